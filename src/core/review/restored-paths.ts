import { safeLine } from '../text/safe-text.ts';

/** Changes of setup and earlier gates to a workspace that halo reverted before a gate; the lists may be truncated. */
export interface Restored {
  /** Tracked files that were restored. */
  changed: string[];
  /** Untracked files and folders that were removed; a folder ends with a slash. */
  removed: string[];
  /** Number of further paths. */
  more: number;
}

const MAX_NAMED_PATHS = 5;
const MAX_PATH_LENGTH = 80;

/** Joins the reverted changes of several gates of one attempt. */
export function joinRestored(before: Restored | undefined, { changed, removed, more }: Restored): Restored {
  if (before === undefined) return { changed, removed, more };
  const join = (some: string[], others: string[]) => [...new Set([...some, ...others])].sort();
  const [put, gone] = [join(before.changed, changed), join(before.removed, removed)];
  const unnamed =
    before.more + more + Math.max(0, put.length - MAX_NAMED_PATHS) + Math.max(0, gone.length - MAX_NAMED_PATHS);
  return { changed: put.slice(0, MAX_NAMED_PATHS), removed: gone.slice(0, MAX_NAMED_PATHS), more: unnamed };
}

/** E.g. `put back package-lock.json; removed out/ and 2 more`. */
export function describeRestored({ changed, removed, more }: Restored): string {
  const list = (word: string, paths: string[]) =>
    paths.length === 0 ? [] : [`${word} ${paths.map((path) => safeLine(path, MAX_PATH_LENGTH)).join(', ')}`];
  const text = [...list('put back', changed), ...list('removed', removed)].join('; ');
  return more === 0 ? text : `${text} and ${more} more`;
}
