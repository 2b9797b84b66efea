import { cutToWidth, widthOf } from './width.ts';

/**
 * Breaks a line at spaces into lines of at most `width` columns. Its indentation is kept on each;
 * a word that is wider than a line is cut where it has to be.
 */
export function wrapToWidth(line: string, width: number): string[] {
  if (widthOf(line) <= width) return [line];
  const indent = /^ */.exec(line)?.[0] ?? '';
  const room = width - indent.length;
  if (room < 2) return [cutToWidth(line, width)];
  const lines: string[] = [];
  let current = '';
  for (const word of line.slice(indent.length).match(/\S+\s*/g) ?? []) {
    if (current !== '' && widthOf((current + word).trimEnd()) > room) {
      lines.push(current);
      current = '';
    }
    current += word;
    while (widthOf(current.trimEnd()) > room) {
      const piece = cutToWidth(current, room + 1).slice(0, -1);
      lines.push(piece);
      current = current.slice(piece.length);
    }
  }
  return [...lines, current].map((each) => (indent + each).trimEnd());
}
