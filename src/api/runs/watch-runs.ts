import { setMaxListeners } from 'node:events';
import type { JournalEvent } from '../../core/journal/events.ts';
import { applyEvent } from '../../core/journal/fold-run.ts';
import type { RunState } from '../../core/run/state.ts';
import { sleep } from '../../lib/async.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import type { RunCatalog } from '../../store/run-catalog.ts';

export interface WatchRuns {
  /** Stops watching. */
  signal: AbortSignal;
  /** Called for each new event, in order per run, with the state after it. */
  onEvent: (event: JournalEvent, state: RunState) => Promise<void> | void;
}

type WatchedStore = Pick<JournalStore, 'journalBytes' | 'follow'> &
  Pick<RunCatalog, 'runIds' | 'openRuns' | 'openRunsChangedAt'>;

const INTERVAL_MS = 1000;

/**
 * Follows every run of the home, in any process. Looks at runs only after an open run has changed, and then at the open
 * and the new ones; reads only journals that grow.
 */
export async function watchRuns(store: WatchedStore, watch: WatchRuns): Promise<void> {
  const watcher = new RunWatcher(store, watch);
  while (!watch.signal.aborted) {
    // An unreadable folder is read again later.
    await watcher.followChangedRuns().catch(() => undefined);
    await sleep(INTERVAL_MS, watch.signal);
  }
  await watcher.close();
}

class RunWatcher {
  readonly #store: WatchedStore;
  readonly #watch: WatchRuns;
  readonly #since = new Date().toISOString();
  readonly #bytes = new Map<string, number>();
  readonly #reported = new Map<string, number>();
  readonly #following = new Map<string, Promise<void>>();
  #known: Set<string> | undefined;
  #changedAt: number | undefined;

  constructor(store: WatchedStore, watch: WatchRuns) {
    this.#store = store;
    this.#watch = watch;
    // One listener for each run that is followed.
    setMaxListeners(0, watch.signal);
  }

  async followChangedRuns(): Promise<void> {
    const store = this.#store;
    const known = this.#known;
    const now = await store.openRunsChangedAt();
    if (now === this.#changedAt) return;
    const all = await store.runIds();
    const isNew = (runId: string) => known !== undefined && !known.has(runId);
    const open = (await store.openRuns()).map(({ runId }) => runId);
    for (const runId of new Set([...open, ...all.filter(isNew)])) {
      const size = await store.journalBytes(runId);
      const before = this.#bytes.get(runId) ?? (known === undefined ? size : 0);
      this.#bytes.set(runId, size);
      if (size === before || this.#following.has(runId)) continue;
      const done = this.#follow(runId)
        .catch(() => undefined)
        .finally(() => this.#following.delete(runId));
      this.#following.set(runId, done);
    }
    this.#known = new Set(all);
    this.#changedAt = now;
  }

  /** Waits until no run is followed any longer, after the signal has aborted. */
  async close(): Promise<void> {
    await Promise.all(this.#following.values());
  }

  async #follow(runId: string): Promise<void> {
    const { signal, onEvent } = this.#watch;
    let state: RunState | undefined;
    for await (const event of this.#store.follow(runId, { after: 0, follow: true, signal })) {
      state = applyEvent(state, event);
      if (state === undefined || event.at < this.#since || event.seq <= (this.#reported.get(runId) ?? 0)) continue;
      this.#reported.set(runId, event.seq);
      await onEvent(event, state);
    }
  }
}
