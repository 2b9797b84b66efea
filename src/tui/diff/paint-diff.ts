import { printedLine, type PatchLine } from '../../core/review/read-patch.ts';
import { replaceHidden, formatCodePoint } from '../../core/text/hidden-characters.ts';
import { describeHidden, formatPlaces } from '../../core/text/hidden-places.ts';
import type { Paint, Tone } from '../../core/transcript/transcript-line.ts';
import type { Remarks } from './read-diff.ts';

/** A line of a diff in its color, without a line end. Hidden characters and bytes that are not UTF-8 are code points. */
export function paintDiffLine(line: PatchLine, paint: Paint): string {
  return paint(
    TONES[line.kind],
    spellIn(printedLine(line), (character) => paint('mark', character)),
  );
}

/** Whether a line has characters that are printed as code points. */
export function isSpelled(line: PatchLine): boolean {
  const text = printedLine(line);
  return spellIn(text, () => '') !== text;
}

/** Bytes that are not UTF-8 were read as lone surrogates. */
function spellIn(text: string, show: (spelled: string) => string): string {
  return replaceHidden(text, (character) => {
    const byte = character.charCodeAt(0) - 0xdc00;
    const isByte = character.length === 1 && byte >= 0x80 && byte <= 0xff;
    return show(isByte ? `<0x${byte.toString(16).toUpperCase()}>` : formatCodePoint(character));
  });
}

const TONES: Record<PatchLine['kind'], Tone> = {
  file: 'strong',
  head: 'strong',
  hunk: 'quiet',
  added: 'good',
  removed: 'bad',
  same: 'plain',
  end: 'quiet',
};

/** Notes on a patch for the person who decides on it. */
export function remarksText({ hidden, suspects, binary, long }: Remarks): string[] {
  return [
    ...(hidden === undefined ? [] : [`${describeHidden(hidden)} (shown as <U+…>)`]),
    ...[...suspects].map(([name, places]) => `possibly ${name}: ${formatPlaces(places)}`),
    ...(binary.length === 0 ? [] : [`binary, not shown: ${formatPlaces(binary)}`]),
    ...(long.length === 0 ? [] : [`lines of more than 1000 characters: ${formatPlaces(long)}`]),
  ];
}
