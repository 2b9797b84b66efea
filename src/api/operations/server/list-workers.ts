import type { WorkerView } from '../requests.ts';
import type { Operation, Zod } from '../operation.ts';

/** A worker. */
export const workerSchema = (z: Zod) =>
  z.object({
    id: z.string(),
    takes: z.enum(['any', 'own']).describe('`own`: only the runs of a `halo run` process.'),
    host: z.string(),
    pid: z.number().int(),
    since: z.string().optional().describe('When it started, in ISO 8601, if known.'),
    seen: z.string().optional().describe('When it last renewed its registration, in ISO 8601.'),
    version: z.string().optional().describe('The version of halo, if the queue knows the worker.'),
    slots: z
      .number()
      .int()
      .optional()
      .describe('How many stories it may run in parallel, if the queue knows the worker.'),
    busy: z.number().int().optional().describe('How many stories it runs.'),
    draining: z.boolean().describe('It finishes the stories that it runs and takes no others.'),
  });

export const listWorkersOperation: Operation<object, { workers: WorkerView[] }> = {
  name: 'listWorkers',
  method: 'GET',
  path: '/v1/workers',
  access: 'read',
  summary: 'Lists the running workers, the oldest first.',
  output: {
    kind: 'json',
    schema: (z) => z.object({ workers: z.array(workerSchema(z)) }),
  },
  async run(context) {
    const { readWorkers } = await import('../../runs/read-workers.ts');
    return { workers: await readWorkers(context) };
  },
};
