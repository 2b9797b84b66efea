import type { Confirmation } from '../core/review/flags.ts';
import type { RunDecisionResult, StoryDecisionResult } from '../core/run/control-result.ts';
import type { JournalEvent } from '../core/journal/events.ts';
import type { PrdFile } from '../core/prd/prd.ts';
import { defined } from '../lib/guards.ts';
import { OPERATIONS as table } from './operations/all-operations.ts';
import type { FeedbackInput } from './operations/control.ts';
import type { CallOperation, InputOf } from './operations/operation.ts';
import type {
  BatchRequest,
  EstimateRequest,
  FollowOptions,
  IssuesRequest,
  PromptRequest,
  ReplayOptions,
  ResumeOptions,
  RetrySettings,
  SubmitRequest,
} from './operations/requests.ts';
import { toWirePrd } from './operations/schemas.ts';
import type { ListedRuns, ListQuery } from './runs/limited-runs.ts';

/** Everything that users can do: in this process (api/local.ts) or over HTTP (api/http/http-client.ts). */
export interface Operations extends ReturnType<typeof bindOperations> {
  close(): Promise<void>;
}

/**
 * The operations of the table as methods, which differ from them only in the shape of arguments and results. `submitter`
 * is added to submits without a user.
 */
export function bindOperations(call: CallOperation, submitter?: { user: string }) {
  return {
    /** Parses a PRD as a submit would; `as`: the id of its dialect. Throws PRD_INVALID, and USAGE for an unknown dialect. */
    validatePrd: async (prd: PrdFile, as?: string) => (await call(table.validatePrd, { prd: toWirePrd(prd), as })).prd,
    /** What the open stories of a PRD will probably cost, from earlier runs of the repository. Throws PRD_INVALID. */
    estimatePrd: ({ prd, ...request }: EstimateRequest) => call(table.estimatePrd, { ...request, prd: toWirePrd(prd) }),
    /** The prompt of the first attempt at a story, without a run. Throws what a submit throws, and STORY_NOT_FOUND. */
    previewPrompt: ({ prd, ...request }: PromptRequest) =>
      call(table.previewPrompt, { ...request, prd: toWirePrd(prd) }),
    /** Creates a run for each repository. Validates everything first: either all runs are queued, or none. */
    submit: async ({ prd, ...request }: SubmitRequest) =>
      (await call(table.submit, { ...submitter, ...request, prd: toWirePrd(prd) })).runs,
    /** Creates a run of the open issues of a project. Throws FORGE_FAILED, and NOTHING_RUNNABLE if none is left. */
    submitIssues: async (request: IssuesRequest) => (await call(table.submitIssues, { ...submitter, ...request })).runs,
    /** The same for several repositories with a PRD each. Returns the runs in the order in which they run. */
    submitBatch: async ({ members, ...request }: BatchRequest) => {
      const encoded = members.map((member) => ({ ...member, prd: toWirePrd(member.prd) }));
      return (await call(table.submitBatch, { ...submitter, ...request, members: encoded })).runs;
    },
    /** All runs, newest first. */
    list: async () => (await call(table.listRuns, {})).runs,
    /** Some runs, in time that depends on their number, not on the number of all runs. */
    listSome: (query: ListQuery): Promise<ListedRuns> => call(table.listRuns, query),
    /** `runId` may be any unique part of it, as everywhere below. Throws RUN_NOT_FOUND. */
    get: (runId: string) => call(table.getRun, { runId }),
    async *follow(runId: string, { signal, ...options }: FollowOptions): AsyncGenerator<JournalEvent> {
      for await (const { event } of await call(table.followEvents, { runId, ...options }, signal)) yield event;
    },
    /** The agents' raw output lines, of one story when `storyId` is given. */
    async *raw(
      runId: string,
      { storyId, follow, signal }: { storyId: string | undefined; follow: boolean; signal?: AbortSignal },
    ): AsyncGenerator<Uint8Array> {
      const frames = await call(table.followRaw, { runId, story: storyId, follow }, signal);
      for await (const { raw } of frames) yield new Uint8Array(Buffer.from(raw, 'base64'));
    },
    /**
     * Unified diff of what the run or one of its stories landed, or of what an approval would land; for other stories, of
     * the last attempt. `since`: an attempt that was sent back; only what changed after it. Only known secrets are masked.
     * Throws STORY_NOT_FOUND.
     */
    diff: (runId: string, storyId: string | undefined, since?: number) =>
      call(table.readDiff, { runId, story: storyId, ...(since !== undefined && { since }) }),
    /** The files of its attempts (prompts, logs, patches) and of its debug bundle, sorted by path. */
    artifacts: async (runId: string) => (await call(table.listArtifacts, { runId })).artifacts,
    /**
     * One of these files, at most 16 MiB, or the last bytes of any file, at most 64 KiB. Known secrets are masked. Throws
     * ARTIFACT_UNREADABLE.
     */
    artifact: async (runId: string, path: string, { last }: { last?: number } = {}) =>
      (await call(table.readArtifact, { runId, path, last })) as Buffer,
    /** Lines of one of these files, of any size. Throws ARTIFACT_UNREADABLE. */
    logLines: (runId: string, path: string, { from, lines }: { from: number; lines: number }) =>
      call(table.readLog, { runId, path, from, lines }),
    /** The numbers of its lines that contain a text. Throws ARTIFACT_UNREADABLE. */
    searchLog: (runId: string, path: string, text: string) => call(table.searchLog, { runId, path, text }),
    /** Its size each time that it has grown. Ends on abort. Throws ARTIFACT_UNREADABLE. */
    followLog: (runId: string, path: string, signal: AbortSignal) =>
      call(table.followLog, { runId, path, follow: true }, signal),
    /** Fast-forwards the branch from which the run started, or pushes its branch to a URL. Throws LAND_REFUSED. */
    land: (runId: string, confirmation: Confirmation = {}) =>
      call(table.land, { runId, ...defined({ ...confirmation }) }),
    /** Requests a pull request, which a worker opens; returns the one that exists. Throws LAND_REFUSED, CONFIG_INVALID. */
    requestPull: (runId: string, confirmation: Confirmation = {}) =>
      call(table.requestPull, { runId, ...defined({ ...confirmation }) }),
    /** Starts no more stories; with `now`, also interrupts running ones, which costs no attempt. Throws STEER_REFUSED. */
    pause: (runId: string, { now }: { now: boolean }) => call(table.pause, { runId, now }),
    /**
     * Continues a paused run from its journal. Throws STEER_REFUSED, also if the specification in the PRD changed;
     * `replan` takes it as it is, for a run that ended, too.
     */
    resume: (runId: string, { replan, set, yes }: ResumeOptions) =>
      call(table.resume, {
        runId,
        ...defined({ set, yes }),
        replan: replan && defined({ prd: replan.prd && toWirePrd(replan.prd) }),
      }),
    /** Ends a run, or excludes one of its stories. Nothing of it lands afterwards. Throws STEER_REFUSED, STORY_NOT_FOUND. */
    cancel: (runId: string, storyId: string | undefined) => call(table.cancel, { runId, story: storyId }),
    /** Retries what failed or was cancelled, with all of its attempts. Throws STEER_REFUSED, STORY_NOT_FOUND. */
    retry: (runId: string, storyId: string | undefined, { set, yes, newTests }: RetrySettings = {}) =>
      call(table.retry, { runId, story: storyId, ...defined({ set, yes, newTests }) }),
    /** Answers the question of a story, which starts it again. Throws STEER_REFUSED, STORY_NOT_FOUND, USAGE. */
    answer: (runId: string, storyId: string, answer: string | { option: number }) =>
      call(table.answer, {
        ...{ runId, story: storyId },
        ...(typeof answer === 'string' ? { text: answer } : { text: undefined, option: answer.option }),
      }),
    /** Lands exactly the commit that waits for a person; a worker merges it if others landed. Throws LAND_REFUSED, CONFLICT. */
    approve: async (runId: string, storyId: string, confirmation: Confirmation = {}) =>
      (await call(table.approve, {
        ...{ runId, story: storyId },
        ...defined({ ...confirmation }),
      })) as StoryDecisionResult,
    /** Approves the result of an ended run, which `[approval] mode = "run"` requires before `land`. Throws LAND_REFUSED. */
    approveRun: async (runId: string, confirmation: Confirmation = {}) =>
      (await call(table.approve, { runId, ...defined({ ...confirmation }) })) as RunDecisionResult,
    /** Drops the commit that waits for approval; the run ends with APPROVAL_DENIED. Throws LAND_REFUSED. */
    reject: async (runId: string, storyId: string, reason: string | undefined) =>
      (await call(table.reject, { runId, story: storyId, reason })) as StoryDecisionResult,
    /** Sends the commit of a story back: it starts again with the feedback. Throws USAGE, STEER_REFUSED, STORY_NOT_FOUND. */
    giveFeedback: async (runId: string, storyId: string, { feedback, comments }: FeedbackInput) =>
      (await call(table.reject, {
        runId,
        story: storyId,
        reason: undefined,
        ...defined({ feedback, comments }),
      })) as StoryDecisionResult,
    /** Rejects the result of an ended run: `land` then refuses it. Throws LAND_REFUSED. */
    rejectRun: async (runId: string, reason: string | undefined) =>
      (await call(table.reject, { runId, reason })) as RunDecisionResult,
    /**
     * Repeats an attempt at a story, by default the last one, with the responses of its cassette and in the same image.
     * Nothing lands. Throws STORY_NOT_FOUND, CASSETTE_MISSING, IMAGE_MISSING.
     */
    replay: (runId: string, { storyId, attempt, signal }: ReplayOptions) =>
      call(table.replay, { runId, story: storyId, attempt }, signal),
    /** Tokens and costs of all attempts, grouped. Throws RUN_NOT_FOUND. */
    costs: (query: InputOf<typeof table.reportCosts>) => call(table.reportCosts, query),
    /** How many stories landed, with how many attempts, at what cost and how fast, grouped. Throws RUN_NOT_FOUND. */
    quality: (query: InputOf<typeof table.reportQuality>) => call(table.reportQuality, query),
    /** What is spent today of the budgets of the day, of users and of repositories. Throws CONFIG_INVALID. */
    budgets: () => call(table.reportBudgets, {}),
    /** Failures of all attempts, grouped by stop reason and error. Throws RUN_NOT_FOUND. */
    errors: (query: InputOf<typeof table.reportErrors>) => call(table.reportErrors, query),
    /** What people decided, what landed, how runs and stories started and ended, the latest first. Throws RUN_NOT_FOUND. */
    audit: (query: InputOf<typeof table.reportAudit>) => call(table.reportAudit, query),
    /** The running workers, the oldest first. */
    workers: async () => (await call(table.listWorkers, {})).workers,
    /** Lets a worker finish its stories and take no others. `workerId`: a unique part of its id. Throws USAGE, STEER_REFUSED. */
    drainWorker: (workerId: string) => call(table.drainWorker, { workerId }),
    /** Lets a drained worker take stories again. */
    resumeWorker: (workerId: string) => call(table.resumeWorker, { workerId }),
    /** The settings of the server with their origins, without secrets. Throws CONFIG_INVALID. */
    settings: async () => (await call(table.readSettings, {})).settings,
    /** The checks of the machine of the server that start no container. */
    doctor: () => call(table.readDoctor, {}),
    /** The breakers that are not closed; with `shared`, without those of single runs. */
    breakers: async (options: InputOf<typeof table.listBreakers> = {}) =>
      (await call(table.listBreakers, options)).breakers,
    /** The endpoints of notifications. */
    endpoints: async () => (await call(table.listEndpoints, {})).endpoints,
    testEndpoint: async (name: string) => call(table.testEndpoint, { name }),
    /** Returns how many notifications are sent again. */
    retryEndpoint: async (name: string) => (await call(table.retryEndpoint, { name })).notifications,
    /** The latest deliveries of notifications, the newest first. */
    deliveries: async (limit: number) => (await call(table.listDeliveries, { limit })).deliveries,
    /** Closes a breaker, by its key, repository or run, and returns its full key. Throws USAGE if it is not open, RUN_NOT_FOUND. */
    resetBreaker: async (key: string) => (await call(table.resetBreaker, { key })).key,
    /** The snapshots of what setup installed, the last used first. */
    snapshots: async () => (await call(table.listSnapshots, {})).snapshots,
    /** Removes snapshots by the beginnings of their keys; without any, all. Throws USAGE. */
    removeSnapshots: (keys: string[]) => call(table.removeSnapshots, { keys }),
    /** Removes artifacts of ended runs, whole runs, and what belongs to no run. Throws CONFIG_INVALID, STEER_REFUSED. */
    prune: (request: InputOf<typeof table.prune>, signal?: AbortSignal) => call(table.prune, request, signal),
    /** The users of the server, by name. */
    users: async () => (await call(table.listUsers, {})).users,
    /** Adds a user. Throws CONFLICT if the name exists. */
    addUser: (user: InputOf<typeof table.addUser>) => call(table.addUser, user),
    /** Changes role or repositories of a user. Throws USER_UNKNOWN. */
    changeUser: (name: string, change: Omit<InputOf<typeof table.changeUser>, 'name'>) =>
      call(table.changeUser, { name, ...change }),
    /** Removes a user and their tokens. Throws USER_UNKNOWN. */
    removeUser: (name: string) => call(table.removeUser, { name }),
    /** Creates a token of a user, which is returned only now; `expiresAt`: ISO 8601. Throws USER_UNKNOWN. */
    createToken: (name: string, expiresAt: string | undefined) => call(table.createToken, { name, expiresAt }),
    /** Revokes a token by its id. Throws USER_UNKNOWN. */
    revokeToken: (id: string) => call(table.revokeToken, { id }),
    /** Changes of users, sign-ins and denials, the latest first. */
    accessLog: async (query: InputOf<typeof table.readAccessLog>) => (await call(table.readAccessLog, query)).events,
  };
}
