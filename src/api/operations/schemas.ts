import type { PrdFile } from '../../core/prd/prd.ts';
import { FLAGS } from '../../core/review/flags.ts';
import type {
  ControlResult,
  LandedRun,
  RunDecisionResult,
  StoryDecisionResult,
} from '../../core/run/control-result.ts';
import { isPriority } from '../../core/run/priority.ts';
import { USER_NAME } from '../submit/user-name.ts';
import type { Schema, Zod } from './operation.ts';

/** Runs of one submit. */
export const MAX_RUNS_PER_SUBMIT = 1000;

export const placeSchema = (z: Zod) => z.string().min(1).max(4096).describe('A path, or the URL of a repository.');

export const prdSchema = (z: Zod) =>
  z
    .strictObject({ path: z.string().min(1).max(4096), content: z.base64() })
    .describe('A PRD; `content` is the file in base64, `path` its name in messages.');

export const prioritySchema = (z: Zod) =>
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
  user: z.string().regex(USER_NAME).optional().describe('Who submits; `api` by default.'),
});

/** Changed settings of an existing run. */
export const settingsSchema = (z: Zod) => ({
  set: givenSettings(z).optional().describe('Settings, as `key=value`.'),
  yes: z.boolean().optional().describe('Confirms changed gates or a changed image.'),
});

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

export const submittedSchema: Schema = (z) =>
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
        progress: z.enum(['pending', 'in_progress', 'passed', 'failed', 'needs_human', 'done', 'skipped', 'cancelled']),
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
  });

export const controlResultSchema: Schema<ControlResult> = (z) =>
  z.object({
    runId: z.string(),
    changed: z.boolean().describe('False: the run already was in this state.'),
    stories: z.array(z.string()).describe('Ids of the affected stories.'),
    says: z.string().describe('The new state, as a sentence.'),
    owner: z.string().exactOptional().describe(OWNER),
    warnings: z.array(z.string()).exactOptional().describe('What the run does not see, such as later commits.'),
  });

export const landedSchema: Schema<LandedRun> = (z) =>
  z.object({ branch: z.string(), from: z.string(), to: z.string(), pushedTo: z.string().exactOptional() });

export const storyDecisionSchema: Schema<StoryDecisionResult> = (z) =>
  z.object({
    story: z.string(),
    commit: z.string(),
    changed: z.boolean().describe('False: the same decision was made before.'),
    landed: z.boolean().describe('False: it was rejected, or a worker has to merge it and run its gates first.'),
    goesOn: z.boolean().describe('Whether a worker has something left to do.'),
  });

export const runDecisionSchema: Schema<RunDecisionResult> = (z) =>
  z.object({
    runId: z.string(),
    changed: z.boolean().describe('False: the same decision was made before.'),
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

/** A PRD in a request: its content is in base64. */
export interface WirePrd {
  path: string;
  content: string;
}

export function toWirePrd({ path, bytes }: PrdFile): WirePrd {
  return { path, content: Buffer.from(bytes).toString('base64') };
}

export function fromWirePrd({ path, content }: WirePrd): PrdFile {
  return { path, bytes: new Uint8Array(Buffer.from(content, 'base64')) };
}
