import type { RunState } from '../../../core/run/state.ts';
import { defined } from '../../../lib/guards.ts';
import { readTakers } from '../../runs/read-takers.ts';
import { PullFiles } from '../../../store/forge/pull-files.ts';
import type { RunView } from '../requests.ts';
import type { Operation } from '../operation.ts';
import { runStateSchema } from '../schemas.ts';

export const getRunOperation: Operation<{ runId: string }, RunView> = {
  name: 'getRun',
  method: 'GET',
  path: '/v1/runs/{runId}',
  access: 'read',
  summary: 'Returns the state of a run, its run.json, its directory on the server and the number of its workers.',
  output: {
    kind: 'json',
    schema: (z) =>
      z.object({
        state: runStateSchema(z),
        heldBy: z.string().optional().describe('The limit of `[fleet]` for which it waits.'),
        workers: z.number().int().describe('How many running workers would take its stories.'),
        draining: z.number().int().optional().describe('How many would not, because they drain, if the run waits.'),
        record: z.record(z.string(), z.unknown()).describe('The content of run.json.'),
        dir: z.string(),
        reports: z
          .object({ stories: z.array(z.string()), why: z.string().optional(), retryAt: z.string().optional() })
          .optional()
          .describe('The issues that do not show the progress of their stories yet.'),
        pull: z
          .object({ why: z.string(), retryAt: z.string() })
          .optional()
          .describe('Why its pull request is not as it should be, or cannot be read.'),
        unused: z
          .array(z.string())
          .optional()
          .describe('Why reviews and checks of its pull request are not used, a sentence each.'),
      }),
  },
  async run(context, input) {
    const { host, store, limitedRuns } = context;
    const runId = await store.find(input.runId);
    const [state, record] = await Promise.all([store.readState(runId), store.readRecord(runId)]);
    const [takers, limited] = await Promise.all([readTakers(context, state), limitedRuns.of(state)]);
    const reports = state.issues && (await readReports(host.home, state));
    const pull = await readPullNotes(host.home, runId);
    return { state, ...limited, ...defined({ reports }), ...pull, record, dir: store.runFolder(runId), ...takers };
  },
};

async function readPullNotes(home: string, runId: string): Promise<Pick<RunView, 'pull' | 'unused'>> {
  const [sending, reading] = await Promise.all([
    new PullFiles(home).read(runId),
    new PullFiles(home, 'pull-reviews').read(runId),
  ]);
  return defined({ pull: sending.failure ?? reading.failure, unused: reading.unused });
}

async function readReports(home: string, state: RunState): Promise<RunView['reports']> {
  const [{ findPendingReports }, { processEnv }] = await Promise.all([
    import('../../../worker/issues/pending-reports.ts'),
    import('../../../config/environment/host.ts'),
  ]);
  return findPendingReports({ home, env: processEnv() }, state);
}
