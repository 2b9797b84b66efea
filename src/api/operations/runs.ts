import { Readable } from 'node:stream';
import type { JournalEvent } from '../../core/journal/events.ts';
import { MAX_FIND_LENGTH } from '../../core/listing/run-facts.ts';
import { toPrunedError } from '../../core/run/pruned.ts';
import { type RunState, storyOf } from '../../core/run/state.ts';
import { sleep } from '../../lib/async.ts';
import { defined } from '../../lib/guards.ts';
import { PullFiles } from '../../store/forge-files.ts';
import type { Store } from '../../store/store.ts';
import { findMovedBase } from '../../worker/repository/moved-base.ts';
import { readTakers } from '../runs/read-workers.ts';
import { PASS_MS, type RunFrame } from '../runs/run-followers.ts';
import type { OperationContext } from './operation.ts';
import { operation, type Zod } from './operation.ts';
import { PENDING_REPORTS } from '../joined.ts';
import type { PendingReports } from '../../core/issues/issue-source.ts';
import { enginesSchema, flagSchema, runStateSchema } from './schemas.ts';

const count = (z: Zod) => z.coerce.number().int().min(0).max(1_000_000).optional();

const text = (z: Zod) => z.string().min(1).max(4_096).optional();

interface EventFrame {
  event: JournalEvent;
}

interface RawFrame {
  /** Base64. */
  raw: string;
}

/** A run with what concerns it now. */
export type RunView = Awaited<ReturnType<(typeof runOperations)['getRun']['run']>>;

export const runOperations = {
  listRuns: operation({
    method: 'GET',
    path: '/v1/runs',
    access: 'read',
    summary: 'Returns the states of runs, newest first.',
    input: (z) =>
      z.strictObject({
        open: count(z).describe(
          'At most this many runs that have not ended: the newest that have started, then others. Default: all.',
        ),
        ended: count(z).describe('At most this many runs that have ended, the newest. Default: all.'),
        newest: count(z).describe('At most this many runs, the newest, open or not.'),
        before: z
          .string()
          .regex(/^[a-z0-9]{1,32}$/)
          .optional()
          .describe('Only runs that are older than this one, by id: `next` of the page before.'),
        since: z.iso
          .datetime({ offset: true })
          .optional()
          .describe('Only runs that were submitted at or after this time.'),
        until: z.iso.datetime({ offset: true }).optional().describe('Only runs that were submitted before this time.'),
        repo: text(z).describe('Only runs of this repository: its path or address, or the last part of it.'),
        user: text(z).describe('Only runs of this user.'),
        prd: text(z).describe('Only runs of the PRD file with this path.'),
        batch: z
          .string()
          .max(64)
          .optional()
          .describe('Only runs of batches whose id contains this; empty: of any batch.'),
        state: text(z).describe(
          'Only runs in this state: `queued`, `running`, `waiting`, `paused`, `ended`, `failed`, `landed`, `approved`, `waiting for approval` or another word of `halo ls`, or a stop reason.',
        ),
        find: z
          .string()
          .min(1)
          .max(MAX_FIND_LENGTH)
          .optional()
          .describe(
            'Only runs in which each of these words is a part of the id, project, user, repository or state, or of the id or title of a story.',
          ),
      }),
    example: { open: 50, ended: 20 },
    output: {
      kind: 'json',
      schema: (z) =>
        z.object({
          runs: z.array(runStateSchema(z)),
          omitted: z
            .object({ open: z.number().int(), ended: z.number().int() })
            .optional()
            .describe('Numbers of runs that the query left out.'),
          next: z.string().optional().describe('`before` of the next page; absent if `newest` left no run out.'),
          unreadable: z
            .array(z.object({ runId: z.string(), reason: z.string() }))
            .optional()
            .describe('Runs whose journal could not be read; absent if there are none.'),
        }),
    },
    run: ({ limitedRuns }, { since, until, ...query }) => {
      const inUtc = (time: string | undefined) => time && new Date(time).toISOString();
      return limitedRuns.list({ ...query, ...defined({ since: inUtc(since), until: inUtc(until) }) });
    },
  }),
  getRun: operation({
    method: 'GET',
    path: '/v1/runs/{runId}',
    access: 'read',
    endsWithRequest: true,
    summary: 'Returns the state of a run, its run.json, its directory on the server and the number of its workers.',
    output: {
      kind: 'json',
      schema: (z) =>
        z.object({
          state: runStateSchema(z),
          heldBy: z.string().optional().describe('The limit of `[fleet]` for which it waits.'),
          engines: enginesSchema(z),
          workers: z.number().int().describe('How many running workers would take its stories.'),
          draining: z.number().int().optional().describe('How many would not, because they drain, if the run waits.'),
          away: z.number().int().optional().describe('How many would not, because their engine does not answer.'),
          record: z.record(z.string(), z.unknown()).describe('The content of run.json.'),
          dir: z.string(),
          reports: z
            .object({ stories: z.array(z.string()), why: z.string().optional(), retryAt: z.string().optional() })
            .optional()
            .describe('The issues that do not show the progress of their stories yet.'),
          pull: z
            .object({ why: z.string(), retryAt: z.string().optional() })
            .optional()
            .describe('Why its pull request is not as it should be, or cannot be read.'),
          moved: z
            .object({ branch: z.string(), commits: z.number().int() })
            .optional()
            .describe(
              'The branch to land on, and how many commits it has that the run lacks: it cannot be fast-forwarded.',
            ),
          unused: z
            .array(z.string())
            .optional()
            .describe('Why reviews and checks of its pull request are not used, a sentence each.'),
        }),
    },
    async run(context, input, signal) {
      const { host, store, limitedRuns } = context;
      const runId = await store.find(input.runId);
      const [state, record] = await Promise.all([store.readState(runId), store.readRecord(runId)]);
      const limited = await limitedRuns.of(state);
      const takers = await readTakers(context, { ...state, ...limited });
      const reports = state.issues && (await readReports(host.home, state));
      const pull = await readPullNotes(host.home, runId);
      const moved = await findMovedBase(host.home, state, { signal });
      return {
        state,
        ...limited,
        ...defined({ reports, moved }),
        ...pull,
        record,
        dir: store.runFolder(runId),
        ...takers,
      };
    },
  }),
  followRuns: operation({
    method: 'GET',
    path: '/v1/run-changes',
    access: 'read',
    summary:
      'Streams the states of runs: all open and the newest ended runs, or those that have changed since the frame with this `after`; then with `follow` of each run that changes.',
    input: (z) =>
      z.strictObject({
        ended: z.coerce.number().int().min(0).max(1_000).default(100),
        follow: flagSchema(z),
        after: z.string().max(100).optional(),
      }),
    example: { ended: 20, follow: true },
    output: {
      kind: 'stream',
      schema: (z) => z.object({ runs: z.array(runStateSchema(z)), after: z.string() }),
      resume: ({ after }: RunFrame) => ({ after }),
    },
    run: (context, input, signal) => Promise.resolve(readChanges(context, input, signal)),
  }),
  followEvents: operation({
    method: 'GET',
    path: '/v1/runs/{runId}/events',
    access: 'read',
    summary: 'Streams the events of the journal after a `seq`, with `follow` until the run ends.',
    input: (z) =>
      z.strictObject({
        after: z.coerce.number().int().min(0).default(0),
        follow: flagSchema(z),
      }),
    example: { after: 0, follow: true },
    output: {
      kind: 'stream',
      schema: (z) =>
        z.object({
          event: z.looseObject({ v: z.number(), seq: z.number().int(), at: z.string(), type: z.string() }),
        }),
      resume: ({ event }: EventFrame) => ({ after: event.seq }),
    },
    async run({ store }, { runId, after, follow }, signal) {
      return toFrames(store.follow(await store.find(runId), { after, follow, ...(signal && { signal }) }));
    },
  }),
  followRaw: operation({
    method: 'GET',
    path: '/v1/runs/{runId}/raw',
    access: 'read',
    summary: 'Streams the output of the agents byte for byte, in base64; with `story` only that of one story.',
    input: (z) => z.strictObject({ story: z.string().optional(), follow: flagSchema(z) }),
    example: { story: 'US-001' },
    output: { kind: 'stream', schema: (z) => z.object({ raw: z.base64() }) },
    async run({ store }, input, signal) {
      return readFrames(store, { ...input, runId: await store.find(input.runId) }, signal);
    },
  }),
  readDiff: operation({
    method: 'GET',
    path: '/v1/runs/{runId}/diff',
    access: 'read',
    summary:
      'Returns a unified diff of the commits of a run or of one of its stories, or of what an approval would land; for a story that has not passed, of its last attempt.',
    input: (z) =>
      z.strictObject({
        story: z.string().optional().describe('The id of a story; absent: the whole run.'),
        since: z.coerce
          .number()
          .int()
          .min(1)
          .optional()
          .describe('With `story`: only what changed after the commit of this attempt, which was sent back.'),
      }),
    example: { story: 'US-001' },
    output: { kind: 'bytes', mediaType: 'text/x-diff; charset=utf-8' },
    async run({ host, store, masker, learnSecrets }, { story, since, ...input }) {
      const runId = await store.find(input.runId);
      const [state, { config }] = await Promise.all([store.readState(runId), store.readRecord(runId)]);
      if (state.refused !== undefined) return Buffer.alloc(0);
      await learnSecrets(config);
      const { diffRun } = await import('../runs/diff-run.ts');
      return masker.known(await diffRun({ home: host.home, store }, state, { story, since }));
    },
  }),
  listArtifacts: operation({
    method: 'GET',
    path: '/v1/runs/{runId}/artifacts',
    access: 'read',
    summary: 'Lists the files of the attempts and of the debug bundle (`debug_bundle/…`), sorted by path.',
    output: {
      kind: 'json',
      schema: (z) => {
        const artifact = z.object({ path: z.string(), bytes: z.number().int(), changedAt: z.string() });
        return z.object({ artifacts: z.array(artifact) });
      },
    },
    run: async ({ store }, { runId }) => ({ artifacts: await store.listArtifacts(await store.find(runId)) }),
  }),
  readArtifact: operation({
    method: 'GET',
    path: '/v1/runs/{runId}/artifacts/{path*}',
    access: 'read',
    summary:
      'Returns a file of at most 16 MiB, or with `whole` of any size, or the `last` bytes of any file. Known secrets are masked; hidden characters are not.',
    input: (z) => z.strictObject({ last: z.coerce.number().int().min(1).max(65_536).optional(), whole: flagSchema(z) }),
    example: { last: 4096 },
    // Containers wrote it: a browser must not interpret it.
    output: { kind: 'bytes', mediaType: 'application/octet-stream' },
    async run({ store, masker, learnSecrets }, { path, last, whole, ...input }) {
      const runId = await store.find(input.runId);
      const read = (): Promise<Buffer | AsyncIterable<Buffer>> => {
        if (whole) return store.streamArtifact(runId, path);
        return last === undefined ? store.readArtifactFile(runId, path) : store.readArtifactEnd(runId, path);
      };
      const [content, { config }] = await Promise.all([
        read().catch(async (error: unknown) => {
          throw toPrunedError(await store.readState(runId), error);
        }),
        store.readRecord(runId),
      ]);
      await learnSecrets(config);
      // The server, which alone asks for the whole, masks and sends streams as well.
      if (!Buffer.isBuffer(content)) return Readable.from(content) as unknown as Buffer;
      // Text that looks like a secret was masked when the file was written, except in patches.
      const masked = masker.known(content);
      return last === undefined ? masked : masked.subarray(-last);
    },
  }),
};

/** Why its pull request is not as it should be, and why its reviews and checks are not used. */
async function readPullNotes(home: string, runId: string) {
  const [sending, reading] = await Promise.all([
    new PullFiles(home).read(runId),
    new PullFiles(home, 'pull-reviews').read(runId),
  ]);
  return defined({ pull: sending.failure ?? reading.failure, unused: reading.unused });
}

async function readReports(home: string, state: RunState): Promise<PendingReports | undefined> {
  const { processEnv } = await import('../../config/environment/host.ts');
  const found = await Promise.all(PENDING_REPORTS.map((read) => read({ home, env: processEnv() }, state)));
  return found.find((each) => each !== undefined);
}

async function* readChanges(
  { runTable, caller }: OperationContext,
  { ended, follow, after }: { ended: number; follow: boolean; after?: string | undefined },
  signal: AbortSignal | undefined,
): AsyncGenerator<RunFrame> {
  const follower = runTable.follower({ ended, caller }, after);
  for (let isFirst = true; signal?.aborted !== true; isFirst = false) {
    const frame = await follower.next();
    if (isFirst || frame.runs.length > 0) yield frame;
    if (!follow) return;
    await sleep(PASS_MS, signal);
  }
}

async function* toFrames(events: AsyncIterable<JournalEvent>): AsyncGenerator<EventFrame> {
  for await (const event of events) yield { event };
}

async function* readFrames(
  store: Store,
  { runId, story, follow }: { runId: string; story?: string | undefined; follow: boolean },
  signal: AbortSignal | undefined,
): AsyncGenerator<RawFrame> {
  const key = story === undefined ? {} : { storyKey: storyOf(await store.readState(runId), story).key };
  for await (const bytes of store.followRaw(runId, { ...key, follow, ...(signal && { signal }) }))
    yield { raw: Buffer.from(bytes).toString('base64') };
}
