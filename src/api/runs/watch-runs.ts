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

const INTERVAL_MS = 1000;

/**
 * Follows every run of the home, in any process. Looks at runs only after an open run has changed, and then at the open
 * and the new ones; reads only journals that grow.
 */
export async function watchRuns(
  store: Pick<JournalStore, 'journalBytes' | 'follow'> & Pick<RunCatalog, 'runIds' | 'openRuns' | 'openRunsChangedAt'>,
  { signal, onEvent }: WatchRuns,
): Promise<void> {
  const since = new Date().toISOString();
  const bytes = new Map<string, number>();
  const reported = new Map<string, number>();
  const following = new Map<string, Promise<void>>();
  let known: Set<string> | undefined;
  let changedAt: number | undefined;

  async function follow(runId: string): Promise<void> {
    let state: RunState | undefined;
    for await (const event of store.follow(runId, { after: 0, follow: true, signal })) {
      state = applyEvent(state, event);
      if (state === undefined || event.at < since || event.seq <= (reported.get(runId) ?? 0)) continue;
      reported.set(runId, event.seq);
      await onEvent(event, state);
    }
  }

  async function followChangedRuns(): Promise<void> {
    const now = await store.openRunsChangedAt();
    if (now === changedAt) return;
    const all = await store.runIds();
    const isNew = (runId: string) => known !== undefined && !known.has(runId);
    const open = (await store.openRuns()).map(({ runId }) => runId);
    for (const runId of new Set([...open, ...all.filter(isNew)])) {
      const size = await store.journalBytes(runId);
      const before = bytes.get(runId) ?? (known === undefined ? size : 0);
      bytes.set(runId, size);
      if (size === before || following.has(runId)) continue;
      const done = follow(runId)
        .catch(() => undefined)
        .finally(() => following.delete(runId));
      following.set(runId, done);
    }
    known = new Set(all);
    changedAt = now;
  }

  while (!signal.aborted) {
    // An unreadable folder is read again later.
    await followChangedRuns().catch(() => undefined);
    await sleep(INTERVAL_MS, signal);
  }
  await Promise.all(following.values());
}
