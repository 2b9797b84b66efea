import { replaceHidden, formatCodePoint } from '../../core/text/hidden-characters.ts';
import { describeHidden, formatPlaces } from '../../core/text/hidden-places.ts';
import type { Paint, Tone } from '../../core/transcript/transcript-line.ts';
import type { Cli } from '../cli.ts';
import { readDiff, type DiffLine, type Remarks } from './read-diff.ts';

/**
 * Shows a complete patch to a person: hidden characters and bytes that are not UTF-8 are printed as code points. Then
 * prints findings that a reviewer may overlook to stderr. Without colors, a patch without such characters is printed
 * unchanged.
 */
export async function showDiff(patch: Uint8Array, cli: Cli): Promise<void> {
  const { lines, remarks } = readDiff(patch);
  await cli.write(lines.map((line) => shown(line, cli.paint)).join(''));
  for (const remark of remarksText(remarks)) await cli.note(`${cli.paintErr('warn', 'warning:')} ${remark}`);
  const isSpelled = lines.some(({ text }) => spellIn(text, () => '') !== text);
  if (isSpelled && !cli.terminal.shown)
    await cli.note('Hidden characters are printed as code points; --raw prints the exact patch.');
}

function shown({ kind, text, returns }: DiffLine, paint: Paint): string {
  const spelled = spellIn(text, (character) => paint('mark', character));
  return `${paint(toneOf(kind, text), spelled)}${returns ? '\r\n' : '\n'}`;
}

/** Bytes that are not UTF-8 were read as lone surrogates. */
function spellIn(text: string, show: (spelled: string) => string): string {
  return replaceHidden(text, (character) => {
    const byte = character.charCodeAt(0) - 0xdc00;
    const isByte = character.length === 1 && byte >= 0x80 && byte <= 0xff;
    return show(isByte ? `<0x${byte.toString(16).toUpperCase()}>` : formatCodePoint(character));
  });
}

function toneOf(kind: DiffLine['kind'], text: string): Tone {
  switch (kind) {
    case 'added':
      return 'good';
    case 'removed':
      return 'bad';
    case 'hunk':
      return 'quiet';
    case 'same':
      return 'plain';
    case 'head':
      return text.startsWith('\\') ? 'quiet' : 'strong';
  }
}

/** Notes on a patch for the person who decides on it. */
function remarksText({ hidden, suspects, binary, long }: Remarks): string[] {
  return [
    ...(hidden === undefined ? [] : [`${describeHidden(hidden)} (shown above as <U+…>)`]),
    ...[...suspects].map(([name, places]) => `possibly ${name}: ${formatPlaces(places)}`),
    ...(binary.length === 0 ? [] : [`binary, not shown: ${formatPlaces(binary)}`]),
    ...(long.length === 0 ? [] : [`lines of more than 1000 characters: ${formatPlaces(long)}`]),
  ];
}
