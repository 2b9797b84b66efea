import { defined } from '../../lib/guards.ts';
import { listWorkers } from '../../store/process-registry.ts';
import type { OperationContext } from '../operations/operation.ts';
import type { WorkerView } from '../operations/schemas.ts';
import { countTakers, hasNothingRunning } from '../../core/run/fleet-limit.ts';
import type { RunState } from '../../core/run/state.ts';
import { withTimeout } from '../../lib/async.ts';
import { countWorkersFor } from '../../worker/run/run-ownership.ts';

/** The running workers, the oldest first, with what the queue knows of them. Without Redis, only what the home knows. */
export async function readWorkers({
  host,
  openQueue,
}: Pick<OperationContext, 'host' | 'openQueue'>): Promise<WorkerView[]> {
  const registered = await listWorkers(host.home);
  if (registered.length === 0) return [];
  const taking = await openQueue()
    .then((queue) => queue.workers())
    .catch(() => []);
  return registered.map((worker) => {
    const own = taking.find(({ id }) => id === worker.id);
    const facts = defined({ version: own?.version, slots: own?.slots, busy: own?.busy });
    return { ...worker, ...facts, draining: own?.draining ?? false };
  });
}

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
