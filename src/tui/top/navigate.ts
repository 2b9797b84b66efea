import { omit } from '../../core/run/state.ts';
import { paintPlain } from '../paint.ts';
import { findDiffLine, helpLines, selectLogLines, settingLines } from './body-lines.ts';
import { findListing, selectedIndex } from './listing.ts';
import { bodyHeight, currentTopView, withTopView, type TopState } from './model.ts';

/** Moves the selection of a list, or scrolls. */
export function move(state: TopState, by: number): TopState {
  const place = currentTopView(state);
  if (place.view === 'logs') return scrollLog(state, by);
  const listing = findListing(state);
  if (listing !== undefined) {
    const index = clamp(selectedIndex(listing, place) + by, listing.rows.length - 1);
    const selected = listing.rows[index]?.id;
    return withTopView(state, { index, ...(selected !== undefined && { selected }) });
  }
  const lines =
    place.view === 'diff'
      ? (state.diff?.read.lines.length ?? 0)
      : (place.view === 'help' ? helpLines : settingLines)(state, paintPlain).length;
  // The last page is reached by its first line; wrapped lines of a diff need more room.
  const most = place.view === 'diff' ? lines - 1 : lines - bodyHeight(state);
  return withTopView(state, { offset: clamp((place.offset ?? 0) + by, most) });
}

function scrollLog(state: TopState, by: number): TopState {
  const place = currentTopView(state);
  const lines = selectLogLines(state, place);
  const last = lines.length - 1;
  const { offset } = place;
  const at = offset === undefined ? last : lines.findLastIndex(({ number }) => number <= offset);
  const first = Math.min(last, bodyHeight(state) - 1);
  const next = Math.max(first, Math.min(at + by, last));
  const number = lines[next]?.number;
  const scrolled = next >= last || number === undefined ? omit(place, 'offset') : { ...place, offset: number };
  return { ...state, stack: [...state.stack.slice(0, -1), scrolled] };
}

function clamp(value: number, most: number): number {
  return Math.max(0, Math.min(value, most));
}

/** The next line of the diff that matches the filter. */
export function toMatch(state: TopState, by: 1 | -1): TopState {
  const { filter } = currentTopView(state);
  if (filter === '') return showRefusal(state, 'Enter words to find with / first.');
  const line = findDiffLine(state, { by, filter });
  return line === undefined ? showRefusal(state, 'No other line matches.') : withTopView(state, { offset: line });
}

/** Shows why a key or command does nothing. */
export function showRefusal(state: TopState, text: string): TopState {
  return { ...state, notice: { tone: 'warn', text: `! ${text}` } };
}
