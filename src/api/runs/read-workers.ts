import { defined } from '../../lib/guards.ts';
import { listWorkers } from '../../store/process-registry.ts';
import type { OperationContext } from '../operations/operation-context.ts';
import type { WorkerView } from '../operations/schemas.ts';

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
