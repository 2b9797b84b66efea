import { HaloError } from '../../core/failure/errors.ts';
import type { RunState } from '../../core/run/state.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import { assertCurrent, type FencedAttempt } from '../attempt/fence.ts';

export interface ControlWatch {
  /** Aborts with RUN_ABORTED when the journal says that the attempt must stop. */
  signal: AbortSignal;
  stop(): void;
}

/**
 * Watches the journal of a run while an attempt runs, because any process with access to the run directory may pause or
 * cancel it. Needs no Redis. An unreadable journal stops nothing; landing checks it again.
 */
export function watchControl(
  store: Pick<JournalStore, 'followState'>,
  runId: string,
  attempt: FencedAttempt,
): ControlWatch {
  const stop = new AbortController();
  const control = new AbortController();
  const follow = async () => {
    for await (const state of store.followState(runId, stop.signal)) {
      const reason = reasonToStop(state, attempt);
      if (reason !== undefined) return control.abort(reason);
    }
  };
  follow().catch(() => undefined);
  return { signal: control.signal, stop: () => stop.abort() };
}

function reasonToStop(state: RunState, attempt: FencedAttempt): HaloError | undefined {
  try {
    assertCurrent(state, attempt);
  } catch (error) {
    if (error instanceof HaloError) return error;
    throw error;
  }
  if (state.paused?.now !== true) return undefined;
  return new HaloError('RUN_ABORTED', `Run ${state.runId} was paused by ${state.paused.by}.`);
}
