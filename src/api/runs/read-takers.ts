import { countTakers, hasNothingRunning } from '../../core/run/fleet-limit.ts';
import type { RunState } from '../../core/run/state.ts';
import { withTimeout } from '../../lib/async.ts';
import { countWorkersFor } from '../../worker/run/run-ownership.ts';
import type { OperationContext } from '../operations/operation-context.ts';
import { readWorkers } from './read-workers.ts';

/** A view of a run does not wait longer for Redis, which knows the draining workers. */
const REDIS_MS = 2_000;

/** How many running workers would take the stories of a run; if it waits, also how many would not, because they drain. */
export async function readTakers(
  context: Pick<OperationContext, 'host' | 'openQueue'>,
  state: RunState,
): Promise<{ workers: number; draining?: number }> {
  const workers = await countWorkersFor(context.host.home, state);
  if (workers === 0 || !hasNothingRunning(state)) return { workers };
  let takers: { workers: number; draining?: number } = { workers };
  await withTimeout(
    REDIS_MS,
    readWorkers(context).then((running) => (takers = countTakers(state, running))),
  );
  return takers;
}
