import { useEffect, useState } from 'preact/hooks';

/** Which runs a list has; those that wait include runs that ended until a person decides. */
export const SHOWN = ['all', 'running', 'waiting', 'ended'] as const;
export type Shown = (typeof SHOWN)[number];

interface RunFilter {
  shown: Shown;
  /** Words that are parts of the texts of a run. */
  text: string;
}

/** The filter of the screen Now. The address keeps it, so that it survives a reload and the way back from a run. */
export function useRunFilter(): [filter: RunFilter, change: (next: RunFilter) => void] {
  const [filter, setFilter] = useState(readFilter);
  useEffect(() => {
    const update = () => setFilter(readFilter());
    addEventListener('hashchange', update);
    return () => removeEventListener('hashchange', update);
  }, []);
  return [
    filter,
    (next) => {
      const query = new URLSearchParams({
        ...(next.shown !== 'all' && { runs: next.shown }),
        ...(next.text !== '' && { find: next.text }),
      }).toString();
      history.replaceState(null, '', `#/${query === '' ? '' : `?${query}`}`);
      setFilter(next);
    },
  ];
}

function readFilter(): RunFilter {
  const query = new URLSearchParams(/\?(.*)$/s.exec(location.hash)?.[1] ?? '');
  const shown = SHOWN.find((each) => each === query.get('runs')) ?? 'all';
  return { shown, text: query.get('find') ?? '' };
}
