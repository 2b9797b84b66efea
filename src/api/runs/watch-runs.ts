import type { JournalEvent } from '../../core/journal/events.ts';
import { applyEvent } from '../../core/journal/fold-run.ts';
import type { RunState } from '../../core/run-state.ts';
import { sleep } from '../../lib/sleep.ts';
import type { Store } from '../../store/store.ts';

export interface WatchRuns {
  /** Ends the watching. */
  signal: AbortSignal;
  /** Called for each event from now on, of one run in order; `state` is that after it. */
  onEvent: (event: JournalEvent, state: RunState) => Promise<void> | void;
}

const EVERY_MS = 1000;

/**
 * Follows every run of the home, whichever process works on it. Only journals that grow are read, so that runs of old
 * cost nothing but a look at their size.
 */
export async function watchRuns(
  store: Pick<Store, 'runIds' | 'journalBytes' | 'follow'>,
  { signal, onEvent }: WatchRuns,
): Promise<void> {
  const since = new Date().toISOString();
  const bytes = new Map<string, number>();
  const told = new Map<string, number>();
  const following = new Map<string, Promise<void>>();

  async function follow(runId: string): Promise<void> {
    let state: RunState | undefined;
    for await (const event of store.follow(runId, { after: 0, follow: true, signal })) {
      state = applyEvent(state, event);
      if (state === undefined || event.at < since || event.seq <= (told.get(runId) ?? 0)) continue;
      told.set(runId, event.seq);
      await onEvent(event, state);
    }
  }

  for (let first = true; !signal.aborted; first = false) {
    // A folder that cannot be read now is looked at again.
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
    await sleep(EVERY_MS, signal);
  }
  await Promise.all(following.values());
}
