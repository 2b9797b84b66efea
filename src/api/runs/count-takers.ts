import { hasNothingRunning } from '../../core/run/fleet-limit.ts';
import type { RunState } from '../../core/run/state.ts';
import { ignore, withTimeout } from '../../lib/async.ts';
import { countWorkersFor, liveOwnerOf } from '../../worker/run/run-ownership.ts';
import type { OperationContext } from '../operations/operation-context.ts';
import type { RunView } from '../operations/requests.ts';
import { readWorkers } from './read-workers.ts';

/** A view of a run does not wait longer for Redis. */
const REDIS_MS = 2_000;

/** How many running workers would take the stories of a run, and how many would not, because they drain. */
export async function countTakers(
  context: Pick<OperationContext, 'host' | 'openQueue'>,
  state: RunState,
): Promise<Pick<RunView, 'workers' | 'draining'>> {
  const { home } = context.host;
  const running = await countWorkersFor(home, state);
  if (running === 0 || !hasNothingRunning(state) || (await liveOwnerOf(home, state)) !== undefined)
    return { workers: running };
  let draining = 0;
  const reading = readWorkers(context).then((workers) => {
    draining = workers.filter((worker) => worker.takes === 'any' && worker.draining).length;
  }, ignore);
  await withTimeout(REDIS_MS, reading);
  return { workers: Math.max(0, running - draining), ...(draining > 0 && { draining }) };
}
