import { toCommands, type NextStep } from '../core/run/next-steps.ts';
import type { Paint } from '../core/transcript/transcript-line.ts';
import { stringWidth, wrapIndented } from '../lib/string-width.ts';

/** The minimum width of a reason beside its command; with less room, it is printed below. */
const MIN_REASON_WIDTH = 28;

/**
 * Steps in aligned lines of at most `width` columns. A command is never broken: if it takes the whole line, its reason
 * is printed below.
 */
export function stepLines(next: readonly NextStep[], width: number, paint: Paint): string[] {
  const steps = toCommands(next);
  const widest = Math.max(0, ...steps.map(({ command }) => stringWidth(command)));
  const beside = widest + 2 + MIN_REASON_WIDTH <= width;
  const indent = beside ? widest + 2 : 4;
  return steps.flatMap(({ command, why }) => {
    const lines = wrapIndented(why, Math.max(1, width - indent)).map((line) => paint('quiet', line));
    const [first = '', ...rest] = lines;
    const head = beside
      ? [`${command}${' '.repeat(indent - stringWidth(command))}${first}`]
      : [command, `    ${first}`];
    return [...head, ...rest.map((line) => `${' '.repeat(indent)}${line}`)];
  });
}
