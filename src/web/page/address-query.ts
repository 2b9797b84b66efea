import { useState } from 'preact/hooks';
import { useWindowEvent } from './use-window-event.ts';

/** Changes values in the address; empty ones are removed. */
type ChangeQuery = (changes: Readonly<Record<string, string>>) => void;

/**
 * The values in the address of a screen, after `?`. A change replaces the entry of the history, so that the values
 * survive a reload and the way back from another screen.
 */
export function useAddressQuery(): [query: URLSearchParams, change: ChangeQuery] {
  const [query, setQuery] = useState(readQuery);
  useWindowEvent('hashchange', () => setQuery(readQuery()));
  return [
    query,
    (changes) => {
      const next = readQuery();
      for (const [name, value] of Object.entries(changes)) {
        next.delete(name);
        if (value !== '') next.append(name, value);
      }
      const path = location.hash.replace(/\?.*$/s, '') || '#/';
      history.replaceState(null, '', next.size === 0 ? path : `${path}?${next.toString()}`);
      setQuery(next);
    },
  ];
}

/** A choice that the address keeps, unless it is the standard. */
export function useAddressChoice<T extends string>(
  name: string,
  choices: readonly T[],
  standard: T,
): [chosen: T, choose: (next: T) => void] {
  const [query, change] = useAddressQuery();
  const chosen = choices.find((choice) => choice === query.get(name)) ?? standard;
  return [chosen, (next) => change({ [name]: next === standard ? '' : next })];
}

function readQuery(): URLSearchParams {
  return new URLSearchParams(/\?(.*)$/s.exec(location.hash)?.[1] ?? '');
}
