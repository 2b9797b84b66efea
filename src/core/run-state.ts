import type { Usage } from './agent.ts';
import type { Pause, RunDecision } from './control.ts';
import type { BatchRef, HeldCommit, RunRepo, Scheduling } from './journal/events.ts';
import type { RunFailures, StoryFailures } from './fold-failure.ts';
import type { HiddenPlaces } from './text/hidden-places.ts';
import type { Need } from './run/run-dependencies.ts';
import type { Phase } from './phase.ts';
import type { Restored } from './review/restored-paths.ts';
import type { StopReason } from './failure/stop-reason.ts';
import type { TestChanges } from './test-report/test-report.ts';

/** `done` was already done in the PRD; `skipped` the PRD says to leave out; `cancelled` a person did. */
export type StoryProgress =
  'pending' | 'in_progress' | 'passed' | 'failed' | 'needs_human' | 'done' | 'skipped' | 'cancelled';

/** A person's yes to a commit. */
export interface Approval {
  commit: string;
  by: string;
}

/** Landed stories that the PRD file does not call done, and why. */
export interface Unmarked {
  stories: string[];
  reason: string;
}

export interface StoryState extends StoryFailures {
  id: string;
  key: string;
  title: string;
  progress: StoryProgress;
  /** Ids of stories that must have landed before. */
  dependsOn: string[];
  /** Attempts begun so far. */
  attempts: number;
  /** Attempts among them that only ended because another story had landed first in the same place. */
  conflicts: number;
  /** The fencing epoch of its newest attempt, and the commit that one builds on. */
  epoch?: number;
  base?: string;
  /** Attempts among them that a person's retry made up for. */
  spent?: number;
  /** The phase under way, while in progress. */
  phase?: Phase;
  /** How the last attempt ended. */
  stopReason?: StopReason;
  summary?: string;
  commit?: string;
  /** What waits for a person's word, while it does. */
  held?: HeldCommit;
  /** What they said yes to, until a worker has merged it onto the newest commit and landed it. */
  approved?: Approval;
  /** Tests of the last attempt that came that far, against those of its base. */
  tests?: TestChanges;
  /** What its last attempt's setup and gates had changed of the tree, and halo undid before a gate. */
  restored?: Restored;
  /** Hidden characters that its last attempt added to text files. */
  hidden?: HiddenPlaces;
  /** Files to which its last attempt added what looks like a secret. */
  suspects?: { path: string; names: string[] }[];
  /** The log, within the attempt, of the last command of its setup or gates that failed in its last attempt. */
  failedLog?: string;
  /** Its attempt under way has told its usage answer by answer. */
  metered?: true;
  startedAt?: string;
  endedAt?: string;
}

/** What a run's journal adds up to. */
export interface RunState extends Scheduling, RunFailures {
  runId: string;
  status: 'queued' | 'running' | 'ended';
  repo: RunRepo;
  prdPath: string;
  project: string;
  /** Most attempts a story may use. */
  maxAttempts: number;
  /** In the order in which they run. */
  stories: StoryState[];
  /** The newest landed commit, or the run's base. */
  tip: string;
  /** The newest fencing epoch handed out to any story. */
  epoch: number;
  usage: Usage;
  /** Who submitted it, where that is known. */
  user?: string;
  /** The agent that works on it, where that is known. */
  agent?: string;
  /** Smaller goes first. */
  priority: number;
  /** The runs that it starts after. */
  needs: Need[];
  batch?: BatchRef;
  createdAt: string;
  /** The worker that has the run for itself while it lives. */
  owner?: string;
  /** Since when: a person started it then. ISO 8601 */
  ownedAt?: string;
  /** Whether `prdPath` is on the machine that made the run. */
  prdIsHere: boolean;
  /** `halo land` waits for a person's yes to all that the run made; not known of runs of an older halo. */
  needsApproval?: true;
  /** Its repository is gone once it has ended: nothing of it can be taken over. */
  scratch?: true;
  /** It never began and never will: it only says why. */
  refused?: true;
  /** While a person lets it rest. */
  paused?: Pause;
  /** Settings that people gave it since it was made, oldest first. `at`: ISO 8601. */
  reconfigured?: { by: string; at: string; set: string[] }[];
  /** The sections of its configuration that are others for that. */
  overrides?: Record<string, unknown>;
  /** A person's word on all that the run made. */
  decision?: RunDecision;
  startedAt?: string;
  /** How its sandboxes reach their gateways, once it has begun. */
  channel?: 'socket' | 'stdio';
  endedAt?: string;
  stopReason?: StopReason;
  detail?: string;
  /** The last time that requests for a model had to wait. */
  modelPause?: { model: string; why: 'provider' | 'rate'; until: string };
  /** The branch that `halo land` moved, and the commit it moved it to, as long as it has all that the run made. */
  landed?: { branch: string; to: string };
  /** Stories that landed while the PRD file could not be made to say so. */
  unmarked?: Unmarked;
  /** seq of the last event folded in. */
  seq: number;
}
