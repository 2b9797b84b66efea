import type { WorkerView } from '../requests.ts';
import type { Operation } from '../operation.ts';

export const listWorkersOperation: Operation<object, { workers: WorkerView[] }> = {
  name: 'listWorkers',
  method: 'GET',
  path: '/v1/workers',
  access: 'read',
  summary: 'Lists the running workers, the oldest first.',
  output: {
    kind: 'json',
    schema: (z) => {
      const worker = z.object({
        id: z.string(),
        takes: z.enum(['any', 'own']).describe('`own`: only the runs of a `halo run` process.'),
        host: z.string(),
        pid: z.number().int(),
        since: z.string().optional().describe('When it started, in ISO 8601, if known.'),
        seen: z.string().optional().describe('When it last renewed its registration, in ISO 8601.'),
        version: z.string().optional().describe('The version of halo, if the queue knows the worker.'),
        slots: z.number().int().optional().describe('How many stories it may run in parallel; 0: it shuts down.'),
        busy: z.number().int().optional().describe('How many stories it runs.'),
      });
      return z.object({ workers: z.array(worker) });
    },
  },
  async run(context) {
    const { readWorkers } = await import('../../runs/read-workers.ts');
    return { workers: await readWorkers(context) };
  },
};
