import { TAIL_BYTES } from '../../core/journal/events.ts';
import { readAnsi } from './log/read-ansi.ts';

/** What a journal has of an output. */
export interface OutputEnd {
  lines: string[];
  /** The index of the line to show first: the first one about an error; without any, the last line. */
  start: number;
  /** Set if the log may have more lines before these. */
  note?: string;
}

/** How compilers, linters and test runners name an error, but not `0 failed`, `no errors` or a path like errors.ts. */
const ERROR = new RegExp(
  [
    String.raw`(?<![\w./-]|\b(?:0|no) )(?:errors?|fail(?:s|ed|ure|ures)?|fatal|panic(?:ked)?|traceback|not ok)(?![\w/-]|\.\w)`,
    String.raw`\w(?:Error|Exception)\b`,
    '[✗✘✖×]',
  ].join('|'),
  'i',
);

/** The last lines of an output, as far as a journal has them. */
export function endOfOutput(tail: string): OutputEnd {
  const lines = tail.replace(/\s+$/, '').split(/\r?\n/);
  const first = lines.findIndex((line) => ERROR.test(plain(line)));
  const start = first < 0 ? lines.length - 1 : first;
  if (new TextEncoder().encode(tail).length < TAIL_BYTES) return { lines, start };
  return { lines, start, note: lines.length === 1 ? 'End of the log' : `Last ${lines.length} lines of the log` };
}

function plain(line: string): string {
  return readAnsi(line)
    .map(({ text }) => text)
    .join('');
}
