import { lastingOutages, type EngineOutage } from '../../core/engine/engine-outage.ts';
import { defined } from '../../lib/guards.ts';
import { readOutages } from '../../store/engine-outages.ts';
import { listWorkers } from '../../store/process-registry.ts';
import type { OperationContext } from '../operations/operation.ts';
import type { ListedRun } from './limited-runs.ts';
import type { WorkerView } from '../operations/schemas.ts';
import { countTakers, hasNothingRunning, type Takers } from '../../core/run/fleet-limit.ts';
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
    const away = own?.away === true ? { away: true } : {};
    const facts = defined({ engine: own?.engine, version: own?.version, slots: own?.slots, busy: own?.busy });
    return { ...worker, ...facts, ...away, draining: own?.draining ?? false };
  });
}

/** The engines of config.toml that have taken no stories for minutes. Throws DISK_FAILED. */
export async function readLastingOutages(home: string): Promise<EngineOutage[]> {
  return lastingOutages(await readOutages(home), new Date().toISOString());
}

/** A view of a run does not wait longer for Redis, which knows the draining workers. */
const REDIS_MS = 2_000;

/** How many running workers would take the stories of a run; if it waits, also how many would not, because they drain. */
export async function readTakers(
  context: Pick<OperationContext, 'host' | 'openQueue'>,
  state: RunState & Pick<ListedRun, 'engines'>,
): Promise<Pick<Takers, 'workers'> & Partial<Takers>> {
  const workers = await countWorkersFor(context.host.home, state);
  if (workers === 0 || !hasNothingRunning(state)) return { workers };
  let takers: Pick<Takers, 'workers'> & Partial<Takers> = { workers };
  await withTimeout(
    REDIS_MS,
    readWorkers(context).then((running) => (takers = countTakers(state, running))),
  );
  return takers;
}
