import { useAddressQuery } from '../page/address-query.ts';

/** Which runs a list has; those that wait include runs that ended until a person decides. */
export const SHOWN = ['all', 'running', 'waiting', 'ended'] as const;
export type Shown = (typeof SHOWN)[number];

interface RunFilter {
  shown: Shown;
  /** Words that are parts of the texts of a run. */
  text: string;
}

/** The filter of the screen Now, which the address keeps. */
export function useRunFilter(): [filter: RunFilter, change: (next: RunFilter) => void] {
  const [query, change] = useAddressQuery();
  const shown = SHOWN.find((each) => each === query.get('runs')) ?? 'all';
  return [
    { shown, text: query.get('find') ?? '' },
    (next) => change({ runs: next.shown === 'all' ? '' : next.shown, find: next.text }),
  ];
}
