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
 * Follows every run of the home, in any process. Only journals that grow are read; for other runs, only the size is
 * checked.
 */
export async function watchRuns(
  store: Pick<JournalStore, 'journalBytes' | 'follow'> & Pick<RunCatalog, 'runIds'>,
  { signal, onEvent }: WatchRuns,
): Promise<void> {
  const since = new Date().toISOString();
  const bytes = new Map<string, number>();
  const reported = new Map<string, number>();
  const following = new Map<string, Promise<void>>();

  async function follow(runId: string): Promise<void> {
    let state: RunState | undefined;
    for await (const event of store.follow(runId, { after: 0, follow: true, signal })) {
      state = applyEvent(state, event);
      if (state === undefined || event.at < since || event.seq <= (reported.get(runId) ?? 0)) continue;
      reported.set(runId, event.seq);
      await onEvent(event, state);
    }
  }

  for (let first = true; !signal.aborted; first = false) {
    // An unreadable folder is retried later.
    for (const runId of await store.runIds().catch(() => [])) {
      const now = await store.journalBytes(runId);
      const before = bytes.get(runId) ?? (first ? now : 0);
      bytes.set(runId, now);
      if (now === before || following.has(runId)) continue;
      const done = follow(runId)
        .catch(() => undefined)
        .finally(() => following.delete(runId));
      following.set(runId, done);
    }
    await sleep(INTERVAL_MS, signal);
  }
  await Promise.all(following.values());
}
