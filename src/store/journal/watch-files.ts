import { watch, type FSWatcher } from 'node:fs';
import { sleep } from '../../lib/async.ts';

/** Wakes a reader when a folder may have changed. */
interface FolderWatch {
  /** Resolves on the next change since the last call, after a poll interval without one, or on abort. */
  changed(): Promise<void>;
  close(): void;
}

/** File system notifications can be missing (network file systems, watch limits), so the folder is polled as well. */
const POLL_MS = 500;

/** `only`: the name of the only file whose changes matter; each event changes several files of a run. */
export function watchFolder(dir: string, signal: AbortSignal | undefined, only?: string): FolderWatch {
  let dirty = false;
  let wake = new AbortController();
  const notice = () => {
    if (dirty) return;
    dirty = true;
    wake.abort();
  };
  signal?.addEventListener('abort', notice, { once: true });
  const watcher = tryWatch(dir, (name) => {
    if (only === undefined || name === null || name === only) notice();
  });
  return {
    async changed() {
      if (!dirty && signal?.aborted !== true) await sleep(POLL_MS, wake.signal);
      dirty = false;
      wake = new AbortController();
    },
    close() {
      signal?.removeEventListener('abort', notice);
      watcher?.close();
    },
  };
}

function tryWatch(dir: string, notice: (name: string | null) => void): FSWatcher | undefined {
  try {
    return watch(dir, (_type, name) => notice(name)).on('error', () => undefined);
  } catch {
    return undefined;
  }
}
