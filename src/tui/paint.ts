import type { Paint, Tone } from '../core/transcript-line.ts';

const CODES: Record<Tone, [number, number] | undefined> = {
  plain: undefined,
  quiet: [2, 22],
  good: [32, 39],
  bad: [31, 39],
  warn: [33, 39],
  strong: [1, 22],
};

export const paintPlain: Paint = (_tone, text) => text;

export const paintColor: Paint = (tone, text) => {
  const codes = CODES[tone];
  return codes === undefined || text === '' ? text : `\u001b[${codes[0]}m${text}\u001b[${codes[1]}m`;
};
