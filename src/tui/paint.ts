import { safeText } from '../core/text/safe-text.ts';
import type { Paint, Tone } from '../core/transcript/transcript-line.ts';

const CODES: Record<Tone, [number, number] | undefined> = {
  plain: undefined,
  quiet: [2, 22],
  good: [32, 39],
  bad: [31, 39],
  warn: [33, 39],
  strong: [1, 22],
  mark: [7, 27],
};

const STYLES = new RegExp(
  `(\\u001b\\[(?:${[...new Set(Object.values(CODES).flatMap((codes) => codes ?? []))].join('|')})m)`,
);

export const paintPlain: Paint = (_tone, text) => text;

export const paintColor: Paint = (tone, text) => {
  const codes = CODES[tone];
  return codes === undefined || text === '' ? text : `\u001b[${codes[0]}m${text}\u001b[${codes[1]}m`;
};

/**
 * Removes all control sequences from a painted text except the colors that `paint` uses. Untrusted text can therefore
 * change a color at most.
 */
export function safeStyled(text: string, paint: Paint): string {
  if (paint === paintPlain) return safeText(text);
  return text
    .split(STYLES)
    .map((part, index) => (index % 2 === 1 ? part : safeText(part)))
    .join('');
}
