import type { WorkerView } from '../requests.ts';
import type { Operation } from '../operation.ts';
import { workerSchema } from './list-workers.ts';

export const drainWorkerOperation: Operation<{ workerId: string }, WorkerView> = {
  name: 'drainWorker',
  method: 'POST',
  path: '/v1/workers/{workerId}/drain',
  access: 'operate',
  everywhere: true,
  summary: 'Lets a worker finish the stories that it runs and take no others, until it is resumed or ends.',
  output: { kind: 'json', schema: workerSchema },
  async run(context, { workerId }) {
    const { setDraining } = await import('../../runs/set-draining.ts');
    return setDraining(context, workerId, true);
  },
};
