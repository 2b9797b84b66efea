import { listWorkers } from '../../../store/process-registry.ts';
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
      });
      return z.object({ workers: z.array(worker) });
    },
  },
  run: async ({ host }) => ({ workers: await listWorkers(host.home) }),
};
