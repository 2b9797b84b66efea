import type { ListedRun } from '../../operations.ts';
import type { Operation } from '../operation.ts';
import { runStateSchema } from '../schemas.ts';

export const listRunsOperation: Operation<object, { runs: ListedRun[] }> = {
  name: 'listRuns',
  method: 'GET',
  path: '/v1/runs',
  access: 'read',
  summary: 'Returns the states of all runs, newest first.',
  output: { kind: 'json', schema: (z) => z.object({ runs: z.array(runStateSchema(z)) }) },
  run: async ({ limitedRuns }) => ({ runs: await limitedRuns.list() }),
};
