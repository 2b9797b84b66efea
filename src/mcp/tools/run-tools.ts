import * as z from 'zod';
import { OPERATIONS } from '../../api/operations.ts';
import { eventIs } from '../../core/journal/events.ts';
import { defineTool, RUN_REFERENCE, type ToolOperations } from '../tool.ts';
import { defined } from '../../lib/guards.ts';
import { MAX_ENTRIES } from '../tool-result.ts';
import { listedRunSchema, runViewSchema, toListedRun, toRunView } from './run-view.ts';

/** Queries that read only the runs that are listed. */
const LISTED = {
  all: (newest: number) => ({ newest }),
  open: (open: number) => ({ open, ended: 0 }),
  ended: (ended: number) => ({ open: 0, ended }),
};

export const listTool = defineTool({
  name: 'halo_runs',
  title: 'List runs',
  description: 'Lists runs, newest first.',
  uses: [OPERATIONS.listRuns],
  input: z.strictObject({
    status: z.enum(['open', 'ended', 'all']).default('all').describe('`open`: queued or running.'),
    repo: z.string().optional().describe('Only runs of this repository, by its path or URL.'),
    limit: z.int().min(1).max(MAX_ENTRIES).default(10),
  }),
  output: z.object({ runs: z.array(listedRunSchema), omitted: z.number().int().describe('Older runs.') }),
  async run(operations, { status, repo, limit }) {
    const { runs, omitted } = await operations.listRuns({ ...LISTED[status](limit), ...defined({ repo }) });
    const older = (status === 'ended' ? 0 : omitted.open) + (status === 'open' ? 0 : omitted.ended);
    return { runs: runs.map(toListedRun), omitted: older };
  },
});

export const statusTool = defineTool({
  name: 'halo_status',
  title: 'Show a run',
  description: 'Returns the state of a run and of each story, why it failed or waits, and what a person can do next.',
  uses: [OPERATIONS.getRun],
  input: z.strictObject({ runId: RUN_REFERENCE }),
  output: runViewSchema,
  run: async (operations, { runId }) => toRunView(await operations.getRun({ runId })),
});

/** Why halo_wait returned. */
const REASONS = ['ended', 'changed', 'timeout'] as const;

/** Shorter than the minute after which many clients give up on a tool. */
const MAX_WAIT_SECONDS = 50;

export const waitTool = defineTool({
  name: 'halo_wait',
  title: 'Wait for a run',
  description: `Waits, and returns the state of a run as halo_status does: when one of its stories ends, when the run ends, pauses or continues, or after \`seconds\`; a run takes minutes to hours. \`reason\` is \`ended\`, \`changed\` or \`timeout\`. Unless it is \`ended\`, call it again with \`after\` = \`seq\` of the result, or tell the user that the run continues without you.`,
  uses: [OPERATIONS.getRun, OPERATIONS.followEvents],
  input: z.strictObject({
    runId: RUN_REFERENCE,
    seconds: z.int().min(1).max(MAX_WAIT_SECONDS).default(30),
    after: z.int().min(0).optional().describe('Wait for changes after this event; absent: from now on.'),
  }),
  output: z.object({ reason: z.enum(REASONS), ...runViewSchema.shape }),
  async run(operations, { runId, seconds, after }, signal) {
    const { state } = await operations.getRun({ runId });
    const from = after ?? state.seq;
    const isOver = state.status === 'ended' && from >= state.seq;
    const changed =
      !isOver &&
      (await waitForChange(operations, { runId: state.runId, after: from }, [
        signal,
        AbortSignal.timeout(seconds * 1000),
      ]));
    const view = await operations.getRun({ runId: state.runId });
    const reason: (typeof REASONS)[number] = view.state.status === 'ended' ? 'ended' : changed ? 'changed' : 'timeout';
    return { reason, ...toRunView(view) };
  },
});

/** Whether something happened that a user would notice, before one of the signals aborted. */
async function waitForChange(
  operations: ToolOperations,
  { runId, after }: { runId: string; after: number },
  signals: AbortSignal[],
): Promise<boolean> {
  const done = new AbortController();
  const signal = AbortSignal.any([...signals, done.signal]);
  try {
    for await (const { event } of await operations.followEvents({ runId, after, follow: true }, signal))
      if (eventIs(event, 'wakes')) return true;
    return false;
  } finally {
    done.abort();
  }
}
