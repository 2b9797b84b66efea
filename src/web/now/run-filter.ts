import { useAddressChoice, useAddressQuery } from '../page/address-query.ts';

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
  const [shown, show] = useAddressChoice('runs', SHOWN, 'all');
  const [query, change] = useAddressQuery();
  return [
    { shown, text: query.get('find') ?? '' },
    (next) => {
      show(next.shown);
      change({ find: next.text });
    },
  ];
}
