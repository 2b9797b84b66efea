import type { WorkerView } from '../requests.ts';
import type { Operation } from '../operation.ts';
import { workerSchema } from './list-workers.ts';

export const resumeWorkerOperation: Operation<{ workerId: string }, WorkerView> = {
  name: 'resumeWorker',
  method: 'POST',
  path: '/v1/workers/{workerId}/resume',
  access: 'operate',
  everywhere: true,
  summary: 'Lets a drained worker take stories again.',
  output: { kind: 'json', schema: workerSchema },
  async run(context, { workerId }) {
    const { setDraining } = await import('../../runs/set-draining.ts');
    return setDraining(context, workerId, false);
  },
};
