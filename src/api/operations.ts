import type { Artifact } from '../core/artifact.ts';
import type { JournalEvent } from '../core/journal/events.ts';
import type { RunState } from '../core/run-state.ts';
import type { Check } from '../worker/check.ts';

export interface ReplayOptions {
  storyId: string;
  attempt?: number;
  signal?: AbortSignal;
}

/** A PRD file: where it is (shown to people) and its bytes. */
export interface PrdBytes {
  path: string;
  bytes: Uint8Array;
}

export interface SubmitRequest extends SubmitOptions {
  prd: PrdBytes;
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
  prd: PrdBytes;
  /** Names of the members whose runs must end with SUCCESS first. */
  deps: string[];
  /** Instead of that of the whole submit. */
  priority?: number | undefined;
}

/** What goes for all runs of a submit. */
export interface SubmitOptions {
  profile: string | undefined;
  /** `key=value` settings, later wins. */
  set: string[];
  /** Accept a repository with uncommitted changes; they are not part of the run. */
  allowDirty: boolean;
  /** Start from the commit that is checked out, although the PRD calls stories done that only earlier runs have. */
  fromHead?: boolean | undefined;
  /** Smaller goes first; 0 when absent. */
  priority?: number | undefined;
  /** Runs, by unique prefixes, that must end with SUCCESS first. */
  after?: string[] | undefined;
  /** Submits with the same key are one: the first makes the runs, the others are answered with them. */
  key?: string | undefined;
  /** Who asks, when that is not the user of this process. */
  user?: string | undefined;
  /** It came over the network: it may name no file of others here, no server in this network, and set less. */
  remote?: true;
  /** The repository is halo's own and goes when the run has ended: nothing of it can be taken over. */
  scratch?: true;
}

export interface Submitted {
  runId: string;
  repo: string;
  /** The batch, when the submit made several runs. */
  batch?: string;
  warnings: string[];
  /** Why it is not in the queue yet; workers put it there as soon as they can. */
  unqueued?: string;
  /** Most of its stories at once. */
  parallel: number;
  /** The worker that has the run for itself; absent: any worker takes it. */
  owner?: string;
}

/** What run.json says, for people and machines (contracts: who, what, where, versions, progress, end). */
export type RunRecord = Record<string, unknown>;

/** A run among all others. */
export interface ListedRun extends RunState {
  /** The limit of the fleet that keeps a story of it from starting, e.g. `fleet.max = 2`. */
  heldBy?: string;
}

export interface RunView {
  state: RunState;
  /** As of ListedRun. */
  heldBy?: string;
  /** How many workers live that would work on it. */
  workers: number;
  record: RunRecord;
  /** Absolute path of the run directory, on the machine that keeps it. */
  dir: string;
}

export interface FollowOptions {
  /** Events after this seq; 0 for all. */
  after: number;
  /** Go on until the run ends; false: stop at what is there. */
  follow: boolean;
  signal?: AbortSignal;
}

/** An attempt that was repeated from its cassette, held against what is recorded of it. */
export interface Replayed {
  story: string;
  attempt: number;
  /** Id of the image that both ran in. */
  image: string;
  /** Where a request of the agent first differed from the recorded one, as a sentence; absent: nowhere. */
  divergence?: string;
  checks: Check[];
}

export interface Landed {
  branch: string;
  from: string;
  to: string;
  /** The address that the branch was pushed to, of a repository behind one. */
  pushedTo?: string;
}

/** What a person's decision on a held story did. */
export interface Decided {
  story: string;
  /** The commit that it was about. */
  commit: string;
  /** False: the same was said before. */
  changed: boolean;
  /** False: it was dropped, or a worker merges it onto what landed meanwhile and proves it again before it lands. */
  landed: boolean;
  /** Whether the run has something left for a worker to do. */
  goesOn: boolean;
}

/** What a person's word did to a run. */
export interface Steered {
  runId: string;
  /** False: it was so before. */
  changed: boolean;
  /** Ids of the stories that it is about. */
  stories: string[];
  /** How the run stands now, as a sentence; story ids in it are the user's own text. */
  says: string;
  /** The worker that has the run for itself from now on, because nobody else was there to work on it. */
  owner?: string;
}

/** What a person's decision on a whole run did. */
export interface DecidedRun {
  runId: string;
  /** False when it was decided the same way before. */
  changed: boolean;
  /** What the decision is about: everything up to this commit. */
  tip: string;
  /** The branch that moved at once, where `[land] mode` says so. */
  landed?: Landed;
}

/** Settings that a run is to go by from now on. */
export interface NewSettings {
  /** `key=value`; keys of `[limits]`, `[budget]` and `[retry]`, `model.name`, `gates` and `image`. */
  set?: string[];
  /** A person said yes to other gates or another image. */
  yes?: boolean;
  /** They came over the network: the rules of a request count. */
  remote?: true;
}

export interface ResumeOptions extends NewSettings {
  /** Take the PRD as it is now, this one or the file that the run came from, although its specification changed. */
  replan?: { prd?: SubmitRequest['prd'] & { remote?: true } };
}

/** A breaker that is not closed. */
export interface BreakerView {
  /** `run:<runId>`, `repository:<mirror>` or `provider:<host>`. */
  key: string;
  status: 'open' | 'half-open';
  reason: string;
  /** ISO 8601: when one story may try; null: when a person closes it. */
  until: string | null;
}

/** Everything a user can do. Served in-process (api/local.ts) or over HTTP (api/http-client.ts) alike. */
export interface Operations {
  /** Validates everything first: either all runs are queued or none. */
  submit(request: SubmitRequest): Promise<Submitted[]>;
  /** The same for several repositories with a PRD each; answers in the order in which they run. */
  submitBatch(request: BatchRequest): Promise<Submitted[]>;
  /** Newest first. */
  list(): Promise<ListedRun[]>;
  /** `runId` may be any unique part of it, as everywhere below. Throws RUN_NOT_FOUND. */
  get(runId: string): Promise<RunView>;
  follow(runId: string, options: FollowOptions): AsyncIterable<JournalEvent>;
  /** The agents' raw output lines, of one story when `storyId` is given. */
  raw(
    runId: string,
    options: { storyId: string | undefined; follow: boolean; signal?: AbortSignal },
  ): AsyncIterable<Uint8Array>;
  /**
   * Unified diff of what the run (or one story of it) landed, or of what a story's approval would land, byte for byte but
   * for secrets that this machine knows.
   */
  diff(runId: string, storyId: string | undefined): Promise<Buffer>;
  /** The files that its attempts left: prompts, logs, patches. In the order of their paths. */
  artifacts(runId: string): Promise<Artifact[]>;
  /** One of them, at most 16 MiB, without the secrets that this machine knows. Throws ARTIFACT_UNREADABLE. */
  artifact(runId: string, path: string): Promise<Buffer>;
  /** Fast-forwards the branch that the run started from, or pushes the run's to an address. Throws LAND_REFUSED. */
  land(runId: string): Promise<Landed>;
  /** Starts no more stories, or with `now` interrupts those under way, at no cost. Throws STEER_REFUSED. */
  pause(runId: string, options: { now: boolean }): Promise<Steered>;
  /**
   * Lets a paused run go on from its journal. Throws STEER_REFUSED, also when the PRD asks for something else by now;
   * `replan` takes it as it is, for a run that ended, too.
   */
  resume(runId: string, options: ResumeOptions): Promise<Steered>;
  /** Ends a run, or takes one story out of it; nothing of it lands any more. Throws STEER_REFUSED, STORY_NOT_FOUND. */
  cancel(runId: string, storyId: string | undefined): Promise<Steered>;
  /** Does anew, with fresh attempts, what failed or was cancelled. Throws STEER_REFUSED, STORY_NOT_FOUND. */
  retry(runId: string, storyId: string | undefined, settings?: NewSettings): Promise<Steered>;
  /**
   * Lands exactly the commit that waits for a person and lets the run go on; where other stories landed meanwhile, a
   * worker merges it onto them, proves it again and lands it. Throws LAND_REFUSED, CONFLICT.
   */
  approve(runId: string, storyId: string): Promise<Decided>;
  /** Says yes to all that an ended run made; `[approval] mode = "run"` needs it before `land`. Throws LAND_REFUSED. */
  approveRun(runId: string): Promise<DecidedRun>;
  /** Says no to it: `land` refuses it. Throws LAND_REFUSED. */
  rejectRun(runId: string, reason: string | undefined): Promise<DecidedRun>;
  /** Drops that commit; the run ends with APPROVAL_DENIED. Throws LAND_REFUSED. */
  reject(runId: string, storyId: string, reason: string | undefined): Promise<Decided>;
  /**
   * Repeats a story's attempt, its last one unless `attempt` says another, with the model's answers from its cassette
   * and in the same image; nothing lands. Throws STORY_NOT_FOUND, CASSETTE_MISSING, IMAGE_MISSING.
   */
  replay(runId: string, options: ReplayOptions): Promise<Replayed>;
  /** Every breaker that is not closed. */
  breakers(): Promise<BreakerView[]>;
  /** Closes one, by its key or its run; answers with its whole key. Throws USAGE when it is not open, RUN_NOT_FOUND. */
  resetBreaker(key: string): Promise<string>;
  /** The same operations, done in the name of somebody else: who asked over HTTP. */
  actingAs(by: string): Operations;
  close(): Promise<void>;
}
