import * as z from 'zod';
import { OPERATIONS } from '../../api/operations.ts';
import { eventIs } from '../../core/journal/events.ts';
import { defineTool, fieldOf, RUN_REFERENCE, type ToolOperations } from '../tool.ts';
import { defined } from '../../lib/guards.ts';
import { MAX_ENTRIES } from '../tool-result.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { INBOX_KINDS, inboxContent, inboxItems, inboxStep, outageItem, sharedBreakerItem } from '../../view/inbox.ts';
import { listedRunSchema, runViewSchema, stepSchema, toListedRun, toRunView, toStep } from './run-view.ts';

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
    status: z
      .enum(['open', 'ended', 'all'])
      .default('all')
      .describe('`open`: queued, running or paused; `ended`: with a result; `all`: both.'),
    repo: z.string().optional().describe('Only runs of this repository, by its path or URL.'),
    limit: z.int().min(1).max(MAX_ENTRIES).default(10).describe('The number of runs.'),
    before: fieldOf(OPERATIONS.listRuns, 'before'),
  }),
  output: z.object({
    runs: z.array(listedRunSchema),
    omitted: z.number().int().describe('Older runs: pass the last `runId` as `before` to list them.'),
  }),
  async run(operations, { status, repo, limit, before }) {
    const { runs, omitted } = await operations.listRuns({ ...LISTED[status](limit), ...defined({ repo, before }) });
    const older = (status === 'ended' ? 0 : omitted.open) + (status === 'open' ? 0 : omitted.ended);
    return { runs: runs.map(toListedRun), omitted: older };
  },
});

const inboxEntry = z.object({
  kind: z.enum(INBOX_KINDS).describe('What a person decides.'),
  runId: z.string().optional().describe('Absent: an engine, or a breaker of a repository or a provider.'),
  project: z.string().optional(),
  story: z.string().optional(),
  text: z.string(),
  ...stepSchema.shape,
});

export const inboxTool = defineTool({
  name: 'halo_inbox',
  title: 'List what waits for a person',
  description: `Lists what waits for a decision of a person, in all runs that you may see: ${inboxContent({ all: true })}. Report it; the decisions are for the user.`,
  uses: [OPERATIONS.listRuns, OPERATIONS.listBreakers, OPERATIONS.listWorkers],
  input: z.strictObject({ limit: z.int().min(1).max(MAX_ENTRIES).default(20).describe('The number of entries.') }),
  output: z.object({ entries: z.array(inboxEntry), omitted: z.number().int().describe('Further entries.') }),
  async run(operations, { limit }) {
    const [{ runs }, { breakers }, { outages }] = await Promise.all([
      operations.listRuns({ ended: MAX_INBOX_RUNS }),
      operations.listBreakers({ shared: true }),
      operations.listWorkers(),
    ]);
    const ofRuns = runs.flatMap((run) =>
      inboxItems(run, runs).map((item) => ({
        kind: item.kind,
        runId: run.runId,
        project: safeLine(run.project),
        ...defined({ story: item.story && safeLine(item.story.id, 100) }),
        text: safeLine(item.text, 600),
        ...toStep(inboxStep(item, run)),
      })),
    );
    const shared = [...breakers.map(sharedBreakerItem), ...outages.map(outageItem)].map((item) => ({
      ...item,
      text: safeLine(item.text, 600),
    }));
    const all = [...ofRuns, ...shared];
    return { entries: all.slice(0, limit), omitted: Math.max(0, all.length - limit) };
  },
});

/** Ended runs whose results are looked at. */
const MAX_INBOX_RUNS = 100;

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
    seconds: z.int().min(1).max(MAX_WAIT_SECONDS).default(30).describe('How long to wait at most.'),
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
