import type { Paint, Tone } from '../../core/transcript/transcript-line.ts';
import { padToWidth, stringWidth, truncateStartToWidth, truncateToWidth } from '../../lib/string-width.ts';
import type { Cli } from '../cli.ts';

export interface Cell {
  text: string;
  /** Which part of a long cell is truncated: by default the end. */
  cut?: 'start';
  tone?: Tone;
}

export const GAP = '  ';

/** Rows in aligned columns; the first row is the heading. The last column is truncated if `width` is known. */
export function table(rows: Cell[][], { paint, width }: { paint: Paint; width: number | undefined }): string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => stringWidth(row[column]?.text ?? ''))),
  );
  const before = widths.slice(0, -1).reduce((sum, each) => sum + each + GAP.length, 0);
  const lastWidth = width === undefined ? Infinity : Math.max(10, width - before - 1);
  return rows.map((row, index) =>
    row
      .map(({ text, cut: side, tone = 'plain' }, column) => {
        const isLast = column === row.length - 1;
        const cutLast = side === 'start' ? truncateStartToWidth : truncateToWidth;
        const cut = isLast ? cutLast(text, lastWidth) : padToWidth(text, widths[column] ?? 0);
        return paint(index === 0 ? 'quiet' : tone, cut);
      })
      .join(GAP)
      .trimEnd(),
  );
}

/** Columns of the terminal; undefined if nothing needs to be truncated. */
export function terminalColumns(cli: Cli): number | undefined {
  return cli.terminal.shown ? (cli.screen.columns ?? 80) : undefined;
}
