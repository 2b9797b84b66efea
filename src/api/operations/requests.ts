import type { PendingReports } from '../../worker/issues/pending-reports.ts';
import type { Right } from '../../core/access/access.ts';
import type { AgentId } from '../../core/agent.ts';
import type { PromptPart } from '../../core/journal/events.ts';
import type { IssueSource } from '../../core/issues/issue-source.ts';

import type { EstimatedWith } from '../../core/report/estimate.ts';
import type { PrdFile } from '../../core/prd/prd.ts';
import type { RunState } from '../../core/run/state.ts';
import type { FactCheck } from '../../worker/proof/compare-record.ts';

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
  /** Without gates, the report of the agent decides, with a warning, instead of refusing the run. */
  withoutGates?: boolean | undefined;
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
  /** What the sender of such a request may cause; by default nothing. */
  rights?: readonly Right[];
  /** The repository is temporary and removed when the run ends: nothing can be landed. */
  scratch?: true;
  /** `halo task` submits it and records its result in the tasks file. */
  task?: true;
  /** The issues from which the PRD was made. */
  issues?: IssueSource;
}

/** A run whose stories are the open issues of a project. */
export interface IssuesRequest extends Omit<SubmitOptions, 'issues'> {
  /** `github:owner/repo`, or `github` for the project of the repository's remote `origin`. */
  source: string;
  /** The label of the issues; default: `issues.label`. */
  label?: string | undefined;
  /** Work on issues again that a run works on or has landed. */
  again?: boolean | undefined;
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
  /** Number of running workers that would not, because they drain. Counted only for runs that wait. */
  draining?: number;
  record: RunRecord;
  reports?: PendingReports;
  /** Why its pull request is not as it should be, or cannot be read. `retryAt`: ISO 8601; absent if it waits for a person. */
  pull?: { why: string; retryAt?: string };
  /** Why reviews and checks of its pull request are not used, a sentence each. */
  unused?: string[];
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
  /** The request came over the network, with these rights of its sender: its rules apply. */
  request?: readonly Right[];
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
export interface PromptRequest extends Pick<SubmitOptions, 'profile' | 'set' | 'remote' | 'rights'> {
  prd: PrdFile;
  /** Path or URL of the repository. */
  repo: string;
  /** The id of the story; undefined: the one that runs first. */
  story: string | undefined;
}

/** A PRD to estimate. */
export interface EstimateRequest extends EstimatedWith {
  prd: PrdFile;
  /** Path of the top of the repository, or its URL, as earlier runs have it. */
  repo: string;
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
  /** When it last renewed its registration, ISO 8601. */
  seen?: string | undefined;
  /** The version of halo, the stories that it may run in parallel, and those that it runs; if the queue knows it. */
  version?: string | undefined;
  slots?: number | undefined;
  busy?: number | undefined;
  /** It finishes the stories that it runs and takes no others. */
  draining: boolean;
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
