import type { PendingReports } from '../worker/issues/pending-reports.ts';
import type { FailureClass } from '../core/failure/failure.ts';
import type { AgentId } from '../core/agent.ts';
import type { AuditEntry } from '../core/report/audit-report.ts';
import type { CostGroup, CostReport } from '../core/report/cost-report.ts';
import type { ErrorGroup } from '../core/report/error-report.ts';
import type { AuditFilter, ReportOf, UnreadableRun } from './reports/read-reports.ts';
import type { Artifact, JournalEvent, PromptPart } from '../core/journal/events.ts';
import type { IssueSource } from '../core/issues/issue-source.ts';
import type { RetentionOperations } from './retention/retention-report.ts';
import type { SnapshotView } from './snapshots/snapshots.ts';
import type { ListedRun, ListedRuns, ListQuery } from './runs/limited-runs.ts';
import type { Prd, PrdFile } from '../core/prd/prd.ts';
import type { ControlResult, LandedRun, RunDecisionResult, StoryDecisionResult } from '../core/run/control-result.ts';
import type { RunState } from '../core/run/state.ts';
import type { FactCheck } from '../worker/proof/compare-record.ts';

export interface ReplayOptions {
  storyId: string;
  attempt?: number;
  signal?: AbortSignal;
}

export interface SubmitRequest extends SubmitOptions {
  prd: PrdFile;
  /** Paths or URLs of repositories; each becomes a run. */
  repos: string[];
}

/** Runs of several repositories, some after others. */
export interface BatchRequest extends SubmitOptions {
  members: BatchEntry[];
}

export interface BatchEntry {
  /** Unique in the batch. */
  name: string;
  /** Path or URL of the repository. */
  repo: string;
  prd: PrdFile;
  /** Names of the members whose runs must end with SUCCESS first. */
  deps: string[];
  /** Overrides the priority of the submit. */
  priority?: number | undefined;
}

/** Options of all runs of a submit. */
export interface SubmitOptions {
  profile: string | undefined;
  /** `key=value` settings, later wins. */
  set: string[];
  /** Accept a repository with uncommitted changes; they are not part of the run. */
  allowDirty: boolean;
  /** A folder, absolute, whose changes do not count as uncommitted, because a queue moves the PRDs in it. */
  queueFolder?: string | undefined;
  /** Start from the checked-out commit, even if it lacks stories of earlier runs that are done in the PRD. */
  fromHead?: boolean | undefined;
  /** Lower values run first; 0 by default. */
  priority?: number | undefined;
  /** Runs, by unique parts of their ids, that must end with SUCCESS first. */
  after?: string[] | undefined;
  /** Submits with the same key create their runs once: later ones return the runs of the first. */
  key?: string | undefined;
  /** The ids of the only stories to run; absent: all. */
  stories?: string[] | undefined;
  /** Agents only describe what they would change; nothing lands. */
  dryRun?: boolean | undefined;
  /** With `dryRun`: the agent plans stories. */
  planning?: true;
  /** The submitting user, if not the user of this process. */
  user?: string | undefined;
  /** The request came over the network: it must not name local files or servers, and may set less. */
  remote?: true;
  /** The repository is temporary and removed when the run ends: nothing can be landed. */
  scratch?: true;
  /** The issues from which the PRD was made. */
  issues?: IssueSource;
}

/** A run whose stories are the open issues of a project. */
export interface IssuesRequest extends Omit<SubmitOptions, 'issues'> {
  /** `github:owner/repo`, or `github` for the project of the repository's remote `origin`. */
  source: string;
  /** The label of the issues; default: `issues.label`. */
  label?: string | undefined;
  /** Path or URL of the repository. */
  repo: string;
}

export interface Submitted {
  runId: string;
  repo: string;
  /** The batch, if the submit created several runs. */
  batch?: string;
  warnings: string[];
  /** Why it is not queued yet; workers queue it as soon as they can. */
  unqueued?: string;
  /** Maximum number of concurrent stories. */
  parallel: number;
  /** The worker that exclusively owns the run; absent: any worker takes it. */
  owner?: string;
}

/** The content of run.json: who, what, where, versions, progress, end. */
export type RunRecord = Record<string, unknown>;

export interface RunView {
  state: RunState;
  /** As in ListedRun. */
  heldBy?: string;
  /** Number of running workers that would take its stories. */
  workers: number;
  record: RunRecord;
  reports?: PendingReports;
  /** Absolute path of the run directory on the machine that stores it. */
  dir: string;
}

export interface FollowOptions {
  /** Events after this seq; 0 for all. */
  after: number;
  /** Continue until the run ends; false: return only existing events. */
  follow: boolean;
  signal?: AbortSignal;
}

/** An attempt repeated from its cassette, compared with its record. */
export interface Replayed {
  story: string;
  attempt: number;
  /** Id of the image of both attempts. */
  image: string;
  /** The first difference of an agent's request from the recording, as a sentence; absent: none. */
  divergence?: string;
  checks: FactCheck[];
}

/** Changed settings of an existing run. */
export interface NewSettings {
  /** `key=value`; keys of `[limits]`, `[budget]` and `[retry]`, `model.name`, `gates` and `image`. */
  set?: string[];
  /** The user confirmed changed gates or a changed image. */
  yes?: boolean;
  /** The request came over the network: its rules apply. */
  remote?: true;
}

export interface RetrySettings extends NewSettings {
  /** The tests that were written first are written again, instead of those that an earlier attempt has locked. */
  newTests?: boolean;
}

export interface ResumeOptions extends NewSettings {
  /** Continue with the given PRD, or with the current PRD file of the run. */
  replan?: { prd?: SubmitRequest['prd'] & { remote?: true } };
}

/** A story whose prompt is shown; the settings are those of a submit. */
export interface PromptRequest extends Pick<SubmitOptions, 'profile' | 'set' | 'remote'> {
  prd: PrdFile;
  /** Path or URL of the repository. */
  repo: string;
  /** The id of the story; undefined: the one that runs first. */
  story: string | undefined;
}

/** A prompt before a run. */
export interface PreviewedPrompt {
  story: string;
  agent: AgentId;
  /** The commit whose files are quoted. */
  commit: string;
  /** The prompt is the one for the tests that are written first. */
  testsFirst?: 'report' | 'on';
  text: string;
  /** An estimate: four bytes each. */
  tokens: number;
  /** 0: no limit. */
  maxTokens: number;
  fits: boolean;
  sections: PromptPart[];
  /** Why a submit would refuse files of `[prompt]`, a sentence each. */
  problems: string[];
  warnings: string[];
}

/** Which runs and events a report reads. */
export interface ReportQuery {
  /** Only this run, by a unique part of its id. */
  run?: string | undefined;
  /** Only events at or after this time, ISO 8601. */
  since?: string | undefined;
}

/** A process that executes stories. */
export interface WorkerView {
  id: string;
  /** `own`: only the runs of a `halo run` process. */
  takes: 'any' | 'own';
  host: string;
  pid: number;
  /** When it started, ISO 8601, if known. */
  since?: string | undefined;
}

/** A breaker that is not closed. */
export interface BreakerView {
  /** `run:<runId>`, `repository:<mirror>` or `provider:<host>`. */
  key: string;
  status: 'open' | 'half-open';
  reason: string;
  /** ISO 8601: when one story may try; null: only a reset closes it. */
  until: string | null;
}

/** Everything that users can do: in this process (api/local.ts) or over HTTP (api/http/http-client.ts). */
export interface Operations extends RetentionOperations {
  /** Parses a PRD as a submit would; `as`: the id of its dialect. Throws PRD_INVALID, and USAGE for an unknown dialect. */
  validatePrd(prd: PrdFile, as?: string): Promise<Prd>;
  /** The prompt of the first attempt at a story, without a run. Throws what a submit throws, and STORY_NOT_FOUND. */
  previewPrompt(request: PromptRequest): Promise<PreviewedPrompt>;
  /** Creates a run for each repository. Validates everything first: either all runs are queued, or none. */
  submit(request: SubmitRequest): Promise<Submitted[]>;
  /** Creates a run of the open issues of a project. Throws FORGE_FAILED, and PRD_INVALID if there are none. */
  submitIssues(request: IssuesRequest): Promise<Submitted[]>;
  /** The same for several repositories with a PRD each. Returns the runs in the order in which they run. */
  submitBatch(request: BatchRequest): Promise<Submitted[]>;
  /** All runs, newest first. */
  list(): Promise<ListedRun[]>;
  /** Some runs, in time that depends on their number, not on the number of all runs. */
  listSome(query: ListQuery): Promise<ListedRuns>;
  /** `runId` may be any unique part of it, as everywhere below. Throws RUN_NOT_FOUND. */
  get(runId: string): Promise<RunView>;
  follow(runId: string, options: FollowOptions): AsyncIterable<JournalEvent>;
  /** The agents' raw output lines, of one story when `storyId` is given. */
  raw(
    runId: string,
    options: { storyId: string | undefined; follow: boolean; signal?: AbortSignal },
  ): AsyncIterable<Uint8Array>;
  /**
   * Unified diff of what the run or one of its stories landed, or of what an approval would land; for other stories, of the
   * last attempt. Only known secrets are masked. Throws STORY_NOT_FOUND.
   */
  diff(runId: string, storyId: string | undefined): Promise<Buffer>;
  /** The files of its attempts (prompts, logs, patches) and of its debug bundle, sorted by path. */
  artifacts(runId: string): Promise<Artifact[]>;
  /**
   * One of these files, at most 16 MiB, or the last bytes of any file, at most 64 KiB. Known secrets are masked. Throws
   * ARTIFACT_UNREADABLE.
   */
  artifact(runId: string, path: string, options?: { last?: number }): Promise<Buffer>;
  /** Fast-forwards the branch from which the run started, or pushes its branch to a URL. Throws LAND_REFUSED. */
  land(runId: string): Promise<LandedRun>;
  /** Starts no more stories; with `now`, also interrupts running ones, which costs no attempt. Throws STEER_REFUSED. */
  pause(runId: string, options: { now: boolean }): Promise<ControlResult>;
  /**
   * Continues a paused run from its journal. Throws STEER_REFUSED, also if the specification in the PRD changed;
   * `replan` takes it as it is, for a run that ended, too.
   */
  resume(runId: string, options: ResumeOptions): Promise<ControlResult>;
  /** Ends a run, or excludes one of its stories. Nothing of it lands afterwards. Throws STEER_REFUSED, STORY_NOT_FOUND. */
  cancel(runId: string, storyId: string | undefined): Promise<ControlResult>;
  /** Retries what failed or was cancelled, with all of its attempts. Throws STEER_REFUSED, STORY_NOT_FOUND. */
  retry(runId: string, storyId: string | undefined, options?: RetrySettings): Promise<ControlResult>;
  /** Answers the question of a story, which starts it again. Throws STEER_REFUSED, STORY_NOT_FOUND, USAGE. */
  answer(runId: string, storyId: string, text: string): Promise<ControlResult>;
  /** Lands exactly the commit that waits for a person; a worker merges it if others landed. Throws LAND_REFUSED, CONFLICT. */
  approve(runId: string, storyId: string): Promise<StoryDecisionResult>;
  /** Approves the result of an ended run, which `[approval] mode = "run"` requires before `land`. Throws LAND_REFUSED. */
  approveRun(runId: string): Promise<RunDecisionResult>;
  /** Rejects the result of an ended run: `land` then refuses it. Throws LAND_REFUSED. */
  rejectRun(runId: string, reason: string | undefined): Promise<RunDecisionResult>;
  /** Drops the commit that waits for approval; the run ends with APPROVAL_DENIED. Throws LAND_REFUSED. */
  reject(runId: string, storyId: string, reason: string | undefined): Promise<StoryDecisionResult>;
  /**
   * Repeats an attempt at a story, by default the last one, with the answers of its cassette and in the same image. Nothing
   * lands. Throws STORY_NOT_FOUND, CASSETTE_MISSING, IMAGE_MISSING.
   */
  replay(runId: string, options: ReplayOptions): Promise<Replayed>;
  /** Tokens and costs of all attempts, grouped. Throws RUN_NOT_FOUND. */
  costs(query: ReportQuery & { by: CostGroup }): Promise<CostReport & { unreadable: UnreadableRun[] }>;
  /** Failures of all attempts, grouped by stop reason and error. Throws RUN_NOT_FOUND. */
  errors(
    query: ReportQuery & { class?: FailureClass | undefined },
  ): Promise<{ errors: ErrorGroup[]; unreadable: UnreadableRun[] }>;
  /** What people decided, what landed, how runs and stories started and ended, the latest first. Throws RUN_NOT_FOUND. */
  audit(query: ReportQuery & Omit<AuditFilter, 'runId'>): Promise<ReportOf<AuditEntry>>;
  /** The running workers, the oldest first. */
  workers(): Promise<WorkerView[]>;
  /** The breakers that are not closed; with `shared`, without those of single runs. */
  breakers(options?: { shared?: true }): Promise<BreakerView[]>;
  /** Closes a breaker, by its key, repository or run, and returns its full key. Throws USAGE if it is not open, RUN_NOT_FOUND. */
  resetBreaker(key: string): Promise<string>;
  /** The snapshots of what setup installed, the last used first. */
  snapshots(): Promise<SnapshotView[]>;
  /** Removes snapshots by the beginnings of their keys; without any, all. Throws USAGE. */
  removeSnapshots(keys: string[]): Promise<{ removed: string[]; inUse: string[] }>;
  close(): Promise<void>;
}
