import { HaloError } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { noteDrained } from '../../store/drained-engines.ts';
import { AccessLog } from '../../store/access/access-log.ts';
import type { OperationContext } from '../operations/operation.ts';
import type { WorkerView } from '../operations/schemas.ts';
import { readWorkers } from './read-workers.ts';

/**
 * Lets a worker drain, or take stories again, records a change in the access log, and returns the worker. `asked` is its
 * id or a unique part of it. Throws USAGE, CONTROL_REFUSED and REDIS_UNAVAILABLE.
 */
export async function setDraining(
  context: Pick<OperationContext, 'host' | 'openQueue' | 'by'>,
  asked: string,
  draining: boolean,
): Promise<WorkerView> {
  const worker = resolveWorker(await readWorkers(context), asked);
  if (worker.takes === 'own')
    throw new HaloError('CONTROL_REFUSED', `Worker ${worker.id} takes only the run of its \`halo run\` process.`, {
      hint: 'Pause that run with `halo pause`, or stop the process with Ctrl-C.',
    });
  const queue = await context.openQueue();
  if (!(await queue.drain(worker.id, draining)))
    throw new HaloError(
      'CONTROL_REFUSED',
      `The queue does not know worker ${worker.id}: it starts, ends or has no Redis.`,
      {
        hint: 'Run `halo worker ls`, and try again when it shows the stories of the worker.',
      },
    );
  // A person who resumes a worker of a drained engine means the engine.
  if (!draining && worker.engine !== undefined) await noteDrained(context.host.home, worker.engine, false);
  if (worker.draining !== draining)
    await new AccessLog(context.host.home).append({
      at: new Date().toISOString(),
      type: draining ? 'worker.drained' : 'worker.resumed',
      worker: worker.id,
      by: context.by,
    });
  // A story that began meanwhile counts.
  const now = (await readWorkers(context)).find(({ id }) => id === worker.id);
  return { ...(now ?? worker), draining };
}

function resolveWorker(workers: readonly WorkerView[], asked: string): WorkerView {
  const found = asked === '' ? [] : workers.filter(({ id }) => id.includes(asked));
  const [worker] = found;
  const hint = 'Run `halo worker ls` to list the running workers.';
  if (worker === undefined)
    throw new HaloError('USAGE', `No worker ${JSON.stringify(safeLine(asked, 100))} is running.`, { hint });
  if (found.length > 1)
    throw new HaloError('USAGE', `${safeLine(asked, 100)} is part of the ids of ${found.length} workers.`, {
      hint: `Use more of the id: ${found.map(({ id }) => id).join(', ')}.`,
    });
  return worker;
}
