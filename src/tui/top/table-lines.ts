import type { Paint, Tone } from '../../core/transcript/transcript-line.ts';
import { padToWidth, stringWidth, truncateStartToWidth, truncateToWidth } from '../../lib/string-width.ts';

export interface Column {
  name: string;
  /** Maximum width; the last column takes what is left. */
  max?: number;
  /** Columns with a higher order are omitted first if the terminal is too narrow; absent: never. */
  order?: number;
  /** Which part of a long text is truncated: by default the end. */
  cut?: 'start';
}

export interface TableCell {
  text: string;
  tone?: Tone;
}

export interface Row {
  id: string;
  runId?: string;
  story?: string;
  /** The path of a PRD. */
  prd?: string;
  /** The key of a breaker that runs share. */
  breaker?: string;
  /** One per column, safe to print. */
  cells: readonly TableCell[];
}

/** A table of one view. */
export interface Listing {
  columns: readonly Column[];
  rows: readonly Row[];
  /** Shown if there are no rows. */
  empty: string;
}

interface Area {
  width: number;
  height: number;
  /** Position of the selected row. */
  selected: number;
  paint: Paint;
}

const GAP = '  ';
/** The last column keeps at least this width before others are omitted. */
const MIN_LAST_WIDTH = 14;

/** The heading and the rows around the selected one, each at most `width` wide; `>` marks the selected row. */
export function tableLines({ columns, rows, empty }: Listing, { width, height, selected, paint }: Area): string[] {
  if (rows.length === 0) return [`  ${paint('quiet', truncateToWidth(empty, width - 2))}`];
  const widths = columns.map(({ name, max = Infinity }, column) =>
    Math.min(max, Math.max(stringWidth(name), ...rows.map((row) => stringWidth(row.cells[column]?.text ?? '')))),
  );
  const shown = chooseColumns(columns, widths, width - 2);
  const room = Math.max(1, height - 1);
  const from = Math.max(0, Math.min(selected - Math.floor(room / 2), rows.length - room));
  const lineOf = (cells: readonly TableCell[]) => {
    let left = width - 2;
    return shown
      .map((column, position) => {
        const { text = '', tone = 'plain' } = cells[column] ?? {};
        const isLast = position === shown.length - 1;
        const room = isLast ? left : Math.min(widths[column] ?? 0, left);
        left -= room + GAP.length;
        const cut = columns[column]?.cut === 'start' ? truncateStartToWidth(text, room) : truncateToWidth(text, room);
        return paint(tone, padToWidth(cut, Math.max(0, room)));
      })
      .join(GAP);
  };
  const heading = `  ${lineOf(columns.map(({ name }) => ({ text: name, tone: 'quiet' })))}`.trimEnd();
  const body = rows.slice(from, from + room).map(({ cells }, index) => {
    const isSelected = from + index === selected;
    if (!isSelected) return `  ${lineOf(cells)}`.trimEnd();
    return paint('mark', `> ${lineOf(cells)}`);
  });
  return [heading, ...body];
}

/** The positions of the columns that fit. */
function chooseColumns(columns: readonly Column[], widths: readonly number[], width: number): number[] {
  let shown = columns.map((_column, index) => index);
  const needed = () => {
    const before = shown.slice(0, -1).reduce((sum, index) => sum + (widths[index] ?? 0) + GAP.length, 0);
    const last = widths[shown.at(-1) ?? 0] ?? 0;
    return before + Math.min(last, MIN_LAST_WIDTH);
  };
  const orderOf = (index: number) => columns[index]?.order ?? 0;
  while (needed() > width) {
    const next = [...shown].sort((a, b) => orderOf(b) - orderOf(a))[0];
    if (next === undefined || orderOf(next) === 0) break;
    shown = shown.filter((index) => index !== next);
  }
  return shown;
}
