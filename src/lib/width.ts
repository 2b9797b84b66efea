import stringWidth from 'string-width';

const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** How many columns of a terminal a line takes. */
export function widthOf(line: string): number {
  return stringWidth(line);
}

/** The line cut to `width` columns; whole characters only, and what is cut off shows as an ellipsis. */
export function cutToWidth(line: string, width: number): string {
  if (widthOf(line) <= width) return line;
  let kept = '';
  let used = 0;
  for (const { segment } of GRAPHEMES.segment(line)) {
    const next = widthOf(segment);
    if (used + next > width - 1) break;
    kept += segment;
    used += next;
  }
  return width < 1 ? '' : `${kept}…`;
}

/** The line cut to `width` columns from its start, such as a path whose end tells the most. */
export function cutStartToWidth(line: string, width: number): string {
  if (widthOf(line) <= width) return line;
  let kept = '';
  let used = 0;
  for (const { segment } of [...GRAPHEMES.segment(line)].reverse()) {
    const next = widthOf(segment);
    if (used + next > width - 1) break;
    kept = segment + kept;
    used += next;
  }
  return width < 1 ? '' : `…${kept}`;
}

/** The line in exactly `width` columns: cut or filled up with spaces. */
export function fitToWidth(line: string, width: number): string {
  const cut = cutToWidth(line, width);
  return cut + ' '.repeat(Math.max(0, width - widthOf(cut)));
}

/** The words of a text in lines of at most `width` columns; a longer word has a line of its own. */
export function wrapToWidth(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/).filter((each) => each !== '')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line === '' || widthOf(longer) <= width) line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  return line === '' ? lines : [...lines, line];
}
