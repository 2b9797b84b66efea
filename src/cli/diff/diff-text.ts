import { replaceHidden, spell } from '../../core/text/hidden-characters.ts';
import { hiddenText, placesText } from '../../core/text/hidden-places.ts';
import type { Paint, Tone } from '../../core/transcript/transcript-line.ts';
import type { Cli } from '../cli.ts';
import { readDiff, type DiffLine, type Remarks } from './read-diff.ts';

/**
 * Shows a patch to a person, with nothing in it left out: hidden characters and bytes that are no text are spelled.
 * Then it says on stderr what they might overlook. Where nothing had to be spelled and there are no colors, what is
 * printed is the patch itself.
 */
export async function showDiff(patch: Uint8Array, cli: Cli): Promise<void> {
  const { lines, remarks } = readDiff(patch);
  await cli.write(lines.map((line) => shown(line, cli.paint)).join(''));
  for (const remark of remarksText(remarks)) await cli.note(`${cli.paintErr('warn', 'warning:')} ${remark}`);
  const isSpelled = lines.some(({ text }) => spellIn(text, () => '') !== text);
  if (isSpelled && !cli.terminal.shown) await cli.note('Hidden characters are spelled: --raw prints the exact patch.');
}

function shown({ kind, text, returns }: DiffLine, paint: Paint): string {
  const spelled = spellIn(text, (character) => paint('mark', character));
  return `${paint(toneOf(kind, text), spelled)}${returns ? '\r\n' : '\n'}`;
}

/** Bytes that are no UTF-8 were read as lone surrogates. */
function spellIn(text: string, show: (spelled: string) => string): string {
  return replaceHidden(text, (character) => {
    const byte = character.charCodeAt(0) - 0xdc00;
    const isByte = character.length === 1 && byte >= 0x80 && byte <= 0xff;
    return show(isByte ? `<0x${byte.toString(16).toUpperCase()}>` : spell(character));
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

/** What to say of a patch to somebody who decides on it. */
function remarksText({ hidden, suspects, binary, long }: Remarks): string[] {
  return [
    ...(hidden === undefined ? [] : [`${hiddenText(hidden)} (spelled above, as <U+…>)`]),
    ...[...suspects].map(([name, places]) => `what looks like ${name}: ${placesText(places)}`),
    ...(binary.length === 0 ? [] : [`binary, and so not shown: ${placesText(binary)}`]),
    ...(long.length === 0 ? [] : [`lines of more than 1000 characters: ${placesText(long)}`]),
  ];
}
