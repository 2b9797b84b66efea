import type { Right } from '../../core/access/access.ts';
import { OUTAGE_REASONS } from '../../core/engine/engine-outage.ts';
import type { IssueSource } from '../../core/issues/issue-source.ts';
import type { PrdFile } from '../../core/prd/prd.ts';
import { FLAGS } from '../../core/review/flags.ts';
import type {
  ControlResult,
  LandedRun,
  RunDecisionResult,
  StoryDecisionResult,
} from '../../core/run/control-result.ts';
import { isPriority } from '../../core/run/priority.ts';
import { STORY_PROGRESS } from '../../core/run/progress.ts';
import { USER_NAME } from '../submit/user-name.ts';
import type { Fields, Schema, Shape, Zod } from './operation.ts';

/** Runs of one submit. */
export const MAX_RUNS_PER_SUBMIT = 1000;

export const placeSchema = (z: Zod) => z.string().min(1).max(4096).describe('A path, or the URL of a repository.');

/** A PRD: in a request, its content is in base64. */
export const prdSchema = (z: Zod) =>
  z
    .strictObject({ path: z.string().min(1).max(4096), content: z.base64() })
    .transform(({ path, content }): PrdFile => ({ path, bytes: new Uint8Array(Buffer.from(content, 'base64')) }))
    .describe(
      'A PRD; `content` is the file in base64, `path` its name in messages. A folder of task files is sent as JSON (docs/prd.md): `{"halo-folder": [{"name", "text"}]}`.',
    );

/** The opposite: a PRD as requests have it. */
export function toWirePrd({ path, bytes }: PrdFile): { path: string; content: string } {
  return { path, content: Buffer.from(bytes).toString('base64') };
}

const prioritySchema = (z: Zod) =>
  z.number().refine(isPriority, 'must be a priority').optional().describe('Lower values run first; 0 by default.');

/** A PRD for examples, as the file's content in base64. */
export const EXAMPLE_PRD = Buffer.from(
  '{"userStories":[{"id":"US-001","title":"Add total()","acceptanceCriteria":["An empty cart has the total 0."]}]}',
).toString('base64');

export const givenSettings = (z: Zod) => z.array(z.string().max(65_536)).max(200);

/** Options of all runs of a submit. `user` is not verified: everyone who has the token is trusted equally. */
export const submitOptions = (z: Zod) => ({
  profile: z.string().optional().describe('`[profiles.<name>]` of the configuration.'),
  set: givenSettings(z).describe('Settings, as `key=value`; later ones win.'),
  allowDirty: z.boolean().describe('Accept uncommitted changes; they are not part of the run.'),
  queueFolder: z
    .string()
    .min(1)
    .max(4096)
    .optional()
    .describe('The folder of `halo queue`, whose changes do not count as uncommitted.'),
  fromHead: z
    .boolean()
    .optional()
    .describe('Start from the checked-out commit, even if it lacks stories that the PRD marks as done.'),
  withoutGates: z.boolean().optional().describe('Without gates, the report of the agent decides.'),
  priority: prioritySchema(z),
  after: z.array(z.string()).max(100).optional().describe('Runs that must end with SUCCESS first.'),
  stories: z
    .array(z.string().min(1).max(1000))
    .min(1)
    .max(1000)
    .optional()
    .describe('Ids of the only stories to run; all by default.'),
  dryRun: z.boolean().optional().describe('Agents only describe what they would change; nothing lands.'),
  key: z.string().min(1).optional().describe('Submits with the same key create their runs once.'),
  user: z.string().regex(USER_NAME).optional().describe('Who submits; `api-token` by default.'),
});

/** Options of all runs of a submit; not all of them can be in a request. */
export interface SubmitOptions extends Fields<typeof submitOptions> {
  /** With `dryRun`: the agent plans stories. */
  planning?: true;
  /** The request came over the network: it must not name local files or servers, and may set less. */
  remote?: true;
  /** What the sender of such a request may cause; by default nothing. */
  rights?: readonly Right[];
  /** The repository is temporary and removed when the run ends: nothing can be landed. */
  scratch?: true;
  /** `halo task` submits it and records its result in the tasks file. */
  task?: true;
  /** The issues from which the PRD was made. */
  issues?: IssueSource;
}

export interface SubmitRequest extends SubmitOptions {
  prd: PrdFile;
  /** Paths or URLs of repositories; each becomes a run. */
  repos: string[];
}

/** One of several repositories, whose runs may run after others. */
export const batchEntrySchema = (z: Zod) =>
  z.strictObject({
    name: z.string().min(1).describe('Unique in the batch.'),
    repo: placeSchema(z),
    prd: prdSchema(z),
    deps: z.array(z.string()).describe('Names of members whose runs must end with SUCCESS first.'),
    priority: prioritySchema(z),
  });

export type BatchEntry = Shape<typeof batchEntrySchema>;

export interface BatchRequest extends SubmitOptions {
  members: BatchEntry[];
}

/** Changed settings of an existing run. */
export const settingsSchema = (z: Zod) => ({
  set: givenSettings(z).optional().describe('Settings, as `key=value`.'),
  yes: z.boolean().optional().describe('Confirms changed gates or a changed image.'),
});

export interface NewSettings extends Fields<typeof settingsSchema> {
  /** The request came over the network, with these rights of its sender: its rules apply. */
  request?: readonly Right[];
}

/** A boolean in a query. */
export const flagSchema = (z: Zod) =>
  z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true');

/** A story, or the whole run if absent. */
export const storySchema = (z: Zod) => ({ story: z.string().optional().describe('Id of a story; absent: the run.') });

/** What a person has seen of a change. */
export const confirmationSchema = (z: Zod) => ({
  confirm: z
    .array(z.enum(FLAGS))
    .max(FLAGS.length)
    .optional()
    .describe(
      'What the person confirms of the change: possible `secret`, `hidden` characters, removed `tests`, `protected` paths, `binary` content. Without one that it has, the operation is refused with UNCONFIRMED, which names all.',
    ),
  commit: z
    .string()
    .regex(/^[0-9a-f]{7,64}$/)
    .optional()
    .describe('The commit that the person has seen; another one is refused.'),
});

const OWNER = 'The worker that alone executes the run; absent: any worker does.';

export const submittedSchema = (z: Zod) =>
  z.object({
    runs: z.array(
      z.object({
        runId: z.string(),
        repo: z.string(),
        batch: z.string().optional().describe('Id of the batch, if the submit created several runs.'),
        warnings: z.array(z.string()),
        unqueued: z.string().optional().describe('Why it is not queued yet; workers queue it as soon as they can.'),
        parallel: z.number().int().describe('Maximum number of concurrent stories.'),
        owner: z.string().optional().describe(OWNER),
      }),
    ),
  });

export type Submitted = Shape<typeof submittedSchema>['runs'][number];

/** The main fields of a run's state; journals of later versions may add others. */
export const runStateSchema = (z: Zod) =>
  z.looseObject({
    runId: z.string(),
    status: z.enum(['queued', 'running', 'ended']),
    stopReason: z.string().optional(),
    detail: z.string().optional(),
    project: z.string(),
    repo: z.looseObject({ source: z.string(), branch: z.string().optional(), base: z.string() }),
    tip: z.string().describe('The latest landed commit, or the base.'),
    stories: z.array(
      z.looseObject({
        id: z.string(),
        title: z.string(),
        progress: z.enum(STORY_PROGRESS),
        attempts: z.number().int(),
        forgiven: z.number().int().optional().describe('Attempts that a retry no longer counts.'),
        dependsOn: z.array(z.string()),
        stopReason: z.string().optional(),
        summary: z.string().optional(),
        commit: z.string().optional(),
        held: z.looseObject({ commit: z.string(), paths: z.array(z.string()) }).optional(),
        question: z.looseObject({ options: z.array(z.string()).optional(), until: z.string().optional() }).optional(),
      }),
    ),
    usage: z.looseObject({
      requests: z.number().int(),
      inputTokens: z.number().int(),
      outputTokens: z.number().int(),
      costUsd: z.number().optional(),
    }),
    priority: z.number(),
    user: z.string(),
    agent: z.string().optional(),
    createdAt: z.string(),
    startedAt: z.string().optional(),
    endedAt: z.string().optional(),
    heldBy: z.string().optional().describe('The limit of `[fleet]` for which it waits, e.g. `fleet.max = 2`.'),
    engines: enginesSchema(z),
  });

export const controlResultSchema: Schema<ControlResult> = (z) =>
  z.object({
    runId: z.string(),
    changed: z.boolean().describe('False: it was already so.'),
    stories: z.array(z.string()).describe('Ids of the affected stories.'),
    says: z.string().describe('The new state, as a sentence.'),
    owner: z.string().exactOptional().describe(OWNER),
    warnings: z.array(z.string()).exactOptional().describe('What the run does not see, such as later commits.'),
  });

export const landedSchema: Schema<LandedRun> = (z) =>
  z.object({ branch: z.string(), from: z.string(), to: z.string(), pushedTo: z.string().exactOptional() });

const storyDecisionSchema: Schema<StoryDecisionResult> = (z) =>
  z.object({
    story: z.string(),
    commit: z.string(),
    changed: z.boolean().describe('False: it was already so.'),
    landed: z.boolean().describe('False: it was rejected, or a worker has to merge it and run its gates first.'),
    goesOn: z.boolean().describe('Whether a worker has something left to do.'),
  });

const runDecisionSchema: Schema<RunDecisionResult> = (z) =>
  z.object({
    runId: z.string(),
    changed: z.boolean().describe('False: it was already so.'),
    tip: z.string().describe('The last commit that the decision covers.'),
    landed: landedSchema(z).exactOptional(),
  });

/** The result of a decision: on a story, or on the run. */
export const decisionSchema: Schema<StoryDecisionResult | RunDecisionResult> = (z) =>
  z.union([storyDecisionSchema(z), runDecisionSchema(z)]);

/** Runs that are missing in the report. */
export const unreadableSchema = (z: Zod) =>
  z
    .array(z.object({ runId: z.string(), reason: z.string() }))
    .describe('Runs whose journal could not be read; the report lacks them.');

/** The engines of a run. */
export const enginesSchema = (z: Zod) =>
  z
    .array(z.string())
    .optional()
    .describe('The engines that may execute its stories; absent: only that of the environment, `local`.');

/** A process that executes stories. */
export const workerSchema = (z: Zod) =>
  z.object({
    id: z.string(),
    takes: z.enum(['any', 'own']).describe('`own`: only the runs of a `halo run` process.'),
    host: z.string(),
    pid: z.number().int(),
    engine: z
      .string()
      .optional()
      .describe(
        'The engine on which it executes stories, if the queue knows the worker; `local`: that of the environment.',
      ),
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
    away: z.boolean().optional().describe('Its engine does not answer, or lacks an image: it takes no stories.'),
  });

export type WorkerView = Shape<typeof workerSchema>;

/** An engine of config.toml that has taken no stories for minutes, though it was not drained. */
export const outageSchema = (z: Zod) =>
  z.object({
    engine: z.string(),
    since: z.string().describe('ISO 8601.'),
    why: z.enum(OUTAGE_REASONS).describe('`away`: it does not answer its worker, or lacks an image.'),
  });

/** A breaker that is not closed. */
export const breakerSchema = (z: Zod) =>
  z.object({
    key: z.string().describe('`run:<runId>`, `repository:<mirror>` or `provider:<host>`.'),
    status: z.enum(['open', 'half-open']),
    reason: z.string(),
    until: z.string().nullable().describe('When one story may try, in ISO 8601; null: only a reset closes it.'),
  });

export type BreakerView = Shape<typeof breakerSchema>;

/** A prompt before a run. */
export const previewSchema = (z: Zod) =>
  z.object({
    story: z.string(),
    agent: z.string(),
    model: z.string().optional().describe('Absent: the agent has no model route.'),
    effort: z.string().optional(),
    price: z
      .object({ input: z.number(), output: z.number() })
      .optional()
      .describe('Of the model, in USD per million tokens. Absent: unknown.'),
    chosenBy: z.string().optional().describe('What chose agent, model or effort for this story; absent: the settings.'),
    commit: z.string(),
    text: z.string().describe('The prompt.'),
    tokens: z.number().int().describe('An estimate: four bytes each.'),
    testsFirst: z
      .enum(['report', 'on'])
      .optional()
      .describe('The prompt is the one for the tests that are written first.'),
    maxTokens: z.number().int().describe('0: no limit.'),
    fits: z.boolean().describe('False if the parts that are never cut are longer than the limit.'),
    sections: z.array(
      z.object({
        name: z.string(),
        file: z.string().optional(),
        tokens: z.number().int(),
        cut: z.number().int().optional().describe('Tokens that are not in the prompt.'),
      }),
    ),
    problems: z.array(z.string()).describe('Why a submit would refuse files of `[prompt]`, a sentence each.'),
    warnings: z.array(z.string()),
  });

export type PreviewedPrompt = Shape<typeof previewSchema>;

/** A snapshot of what setup installed. */
export const snapshotSchema = (z: Zod) =>
  z.object({
    key: z.string().describe('SHA-256 of what decides when it is used.'),
    repo: z.string(),
    engine: z.string().nullable().describe('The engine that has it; null: unknown, of an older halo.'),
    state: z.enum(['ready', 'refused']),
    reason: z.string().nullable().describe('Why the result of setup cannot be a snapshot.'),
    digest: z.string().nullable().describe('SHA-256 of its contents.'),
    bytes: z.number(),
    files: z.number(),
    setup: z.array(z.string()),
    inputs: z.array(z.string()).nullable().describe('Files that decide when it is used; null: the whole tree.'),
    wholeTree: z.string().nullable().describe('Why the whole tree decides.'),
    onlyRun: z
      .string()
      .nullable()
      .describe('The only run that may use it, until the commit of which it was made has landed.'),
    createdAt: z.string(),
    usedAt: z.string(),
  });

export type SnapshotView = Shape<typeof snapshotSchema>;

/** A setting of the server with its origin. */
export const shownSettingSchema = (z: Zod) =>
  z.object({
    key: z.string(),
    value: z.unknown().describe('Null: not set, or hidden.'),
    origin: z.string().describe('`default`, a file with its line, or an environment variable.'),
    hidden: z.literal(true).exactOptional().describe('The value may contain secrets.'),
  });

export type ShownSetting = Shape<typeof shownSettingSchema>;
