import { safeLine } from '../safe-text.ts';

/** What setup and earlier gates had made of a workspace, and halo undid before a gate; paths may be cut. */
export interface Restored {
  /** Tracked files that were put back. */
  changed: string[];
  /** What was neither tracked nor ignored; a folder ends with a slash. */
  removed: string[];
  /** How many paths are not named. */
  more: number;
}

const NAMED = 5;
const PATH_LENGTH = 80;

/** Of several gates of one attempt together. */
export function joinRestored(before: Restored | undefined, { changed, removed, more }: Restored): Restored {
  if (before === undefined) return { changed, removed, more };
  const join = (some: string[], others: string[]) => [...new Set([...some, ...others])].sort();
  const [put, gone] = [join(before.changed, changed), join(before.removed, removed)];
  const unnamed = before.more + more + Math.max(0, put.length - NAMED) + Math.max(0, gone.length - NAMED);
  return { changed: put.slice(0, NAMED), removed: gone.slice(0, NAMED), more: unnamed };
}

/** In words, e.g. `put back package-lock.json; removed out/ and 2 more`. */
export function restoredText({ changed, removed, more }: Restored): string {
  const list = (word: string, paths: string[]) =>
    paths.length === 0 ? [] : [`${word} ${paths.map((path) => safeLine(path, PATH_LENGTH)).join(', ')}`];
  const text = [...list('put back', changed), ...list('removed', removed)].join('; ');
  return more === 0 ? text : `${text} and ${more} more`;
}
