import { TAIL_BYTES } from '../../core/journal/events.ts';

/** The last lines of an output. */
export interface OutputEnd {
  lines: string[];
  /** Which part of the output they are; undefined: all of it. */
  note?: string;
}

/** The last `maxLines` lines of what a journal has of an output. If the journal may have cut it, the note has no total. */
export function endOfOutput(tail: string, maxLines: number): OutputEnd {
  const all = tail.replace(/\s+$/, '').split(/\r?\n/);
  const lines = all.slice(-maxLines);
  if (new TextEncoder().encode(tail).length >= TAIL_BYTES)
    return { lines, note: lines.length === 1 ? 'End of the log' : `Last ${lines.length} lines of the log` };
  return all.length > lines.length ? { lines, note: `Last ${lines.length} of ${all.length} lines` } : { lines };
}
