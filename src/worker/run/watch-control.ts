import { HaloError } from '../../core/failure/errors.ts';
import type { RunState } from '../../core/run-state.ts';
import type { Store } from '../../store/store.ts';
import { refuseOvertaken, type Fenced } from '../fence.ts';

export interface ControlWatch {
  /** Aborted with a RUN_ABORTED as soon as the journal says that the attempt shall not go on. */
  signal: AbortSignal;
  stop(): void;
}

/**
 * Watches the journal of the run while an attempt is under way, because who cancels or pauses it may be any process
 * that has the run directory. Needs no Redis. A journal that cannot be read stops nothing: landing asks it again.
 */
export function watchControl(store: Pick<Store, 'followState'>, runId: string, attempt: Fenced): ControlWatch {
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

function reasonToStop(state: RunState, attempt: Fenced): HaloError | undefined {
  try {
    refuseOvertaken(state, attempt);
  } catch (error) {
    if (error instanceof HaloError) return error;
    throw error;
  }
  if (state.paused?.now !== true) return undefined;
  return new HaloError('RUN_ABORTED', `Run ${state.runId} was paused by ${state.paused.by}.`);
}
