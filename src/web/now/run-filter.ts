import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { AWAITS_PERSON, factsOf, matches } from '../../core/listing/run-facts.ts';
import type { RunState, StoryState } from '../../core/run/state.ts';
import { searchWords } from '../../core/text/search.ts';
import { isWorking } from '../../view/story-words.ts';
import { useAddressQuery } from '../page/address-query.ts';

interface ShownRow {
  name: string;
  /** The state of ended runs that the server is asked for; absent: all; `none`: it has none of them. */
  ended?: string;
  /** Absent: those in the state `ended`. */
  has?: (run: ListedRun, isAsking: boolean) => boolean;
}

const isOpen = ({ status }: ListedRun) => status !== 'ended';

/** Whether an attempt at one of its stories runs. */
export function isActive(run: ListedRun): boolean {
  return isOpen(run) && run.stories.some((story) => isWorking(story, run));
}

/** Which runs a list has, by the value in the address. Those that wait include runs that ended until a person decides. */
export const SHOWN = {
  all: { name: 'All runs', has: () => true },
  open: { name: 'Open', ended: 'none', has: isOpen },
  running: { name: 'Running', ended: 'none', has: isActive },
  waiting: {
    name: 'Waiting',
    ended: AWAITS_PERSON,
    has: (run, isAsking) => isAsking || (isOpen(run) && !isActive(run)),
  },
  person: { name: 'Waiting for a person', ended: AWAITS_PERSON, has: (_run, isAsking) => isAsking },
  left: { name: 'Not landed', ended: 'not landed' },
  landed: { name: 'Landed', ended: 'landed' },
  failed: { name: 'Failed', ended: 'failed' },
  ended: { name: 'Ended', ended: 'ended' },
} as const satisfies Record<string, ShownRow>;

export type Shown = keyof typeof SHOWN;

const SHOWN_ROWS: Record<Shown, ShownRow> = SHOWN;

/** Which runs a person looks for. Empty texts: no condition. */
export interface RunFilter {
  shown: Shown;
  /** Words that are each a part of a text of the run. */
  find: string;
  /** The first and the last day on which they were submitted, as `YYYY-MM-DD` in the time zone of the browser. */
  from: string;
  to: string;
}

export function isFiltered({ shown, find, from, to }: RunFilter): boolean {
  return shown !== 'all' || [find, from, to].some((each) => each.trim() !== '');
}

/** Whether a run is one of those. The server decides with the same function, except about questions that a newer run settled. */
export function isListed(run: ListedRun, isAsking: boolean, filter: RunFilter): boolean {
  const { has, ended } = SHOWN_ROWS[filter.shown];
  const { since = '', until = '~' } = periodOf(filter);
  return (
    (has?.(run, isAsking) ?? true) &&
    matches(factsOf(run), { find: filter.find, ...(has === undefined && { state: ended }) }) &&
    run.createdAt >= since &&
    run.createdAt < until
  );
}

/** The query for ended runs that are older than `before`; undefined if there are none of this kind. */
export function toQuery(filter: RunFilter, page: { before?: string; newest: number }): string | undefined {
  const { ended } = SHOWN_ROWS[filter.shown];
  if (ended === 'none') return undefined;
  const find = filter.find.trim();
  const values = { open: 0, ...page, state: ended, find: find === '' ? undefined : find, ...periodOf(filter) };
  const given = Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]]));
  return new URLSearchParams(given).toString();
}

function periodOf({ from, to }: RunFilter): { since?: string; until?: string } {
  const [since, until] = [startOf(from, 0), startOf(to, 1)];
  return { ...(since !== undefined && { since }), ...(until !== undefined && { until }) };
}

/** The day so many days before today, as `YYYY-MM-DD` in the time zone of the browser. */
export function dayBefore(days: number): string {
  const day = new Date();
  day.setDate(day.getDate() - days);
  const parts = [day.getFullYear(), day.getMonth() + 1, day.getDate()];
  return parts.map((part) => String(part).padStart(2, '0')).join('-');
}

/** When a day begins, or one of those after it, in the time zone of the browser; undefined if it is not a day. */
function startOf(day: string, later: number): string | undefined {
  const start = new Date(`${day}T00:00`);
  if (Number.isNaN(start.getTime())) return undefined;
  start.setDate(start.getDate() + later);
  return start.toISOString();
}

/** The stories in which a search found words, those with most of them first. */
export function findStories({ stories }: RunState, find: string): StoryState[] {
  const words = searchWords(find);
  const count = ({ id, title }: StoryState) => {
    const text = `${id} ${title}`.toLowerCase();
    return words.filter((word) => text.includes(word)).length;
  };
  return stories.filter((story) => count(story) > 0).sort((a, b) => count(b) - count(a));
}

/** The filter of the screen Now, which the address keeps, and the address with other values. */
export function useRunFilter(): [
  filter: RunFilter,
  change: (next: Partial<RunFilter>) => void,
  linkTo: (shown: Shown) => string,
] {
  const [query, change] = useAddressQuery();
  const value = (name: string) => query.get(name) ?? '';
  const shown = (Object.keys(SHOWN) as Shown[]).find((each) => each === query.get('runs')) ?? 'all';
  const filter = { shown, find: value('find'), from: value('from'), to: value('to') };
  const toValues = ({ shown, ...texts }: RunFilter) => ({ runs: shown === 'all' ? '' : shown, ...texts });
  return [
    filter,
    (next) => change(toValues({ ...filter, ...next })),
    (next) => {
      const set = Object.entries(toValues({ ...filter, shown: next })).filter(([, each]) => each !== '');
      return `#/${set.length === 0 ? '' : `?${new URLSearchParams(set).toString()}`}`;
    },
  ];
}
