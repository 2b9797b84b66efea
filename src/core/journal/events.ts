import type { AgentActivity, Usage } from '../agent.ts';
import type { CheckedClaim } from '../review/criteria.ts';
import type { NetworkAsked, NetworkPhase } from '../network.ts';
import type { HiddenPlaces } from '../text/hidden-places.ts';
import type { FailureSign } from '../failure/breaker.ts';
import type { FailedTests } from '../test-report/failed-tests.ts';
import type { FailureCause, FailureClass, RetryRule } from '../failure/failure.ts';
import type { Phase } from '../phase.ts';
import type { Prd } from '../prd/prd.ts';
import type { Restored } from '../review/restored-paths.ts';
import type { StopReason } from '../failure/stop-reason.ts';
import type { TestChanges } from '../test-report/test-report.ts';

/** The version of the journal's schema; raised when an event changes its meaning. */
export const JOURNAL_VERSION = 1;

export type Verdict = 'passed' | 'failed' | 'needs_human';

/** The repository of a run, as it was when the run was submitted. */
export interface RunRepo {
  /** Absolute path of the repository, or its URL. */
  source: string;
  /** Name of the mirror under HALO_HOME/repos. */
  mirror: string;
  /** Short name of the branch that was checked out; undefined when HEAD was detached. */
  branch: string | undefined;
  /** The commit that the first story builds on, 40 or 64 hex digits; empty for a refused run that found none. */
  base: string;
  /** What only a person may let a story of the run change, besides what holds for all runs. */
  guarded?: readonly GuardedPath[];
}

/** A file or folder, from the top of the tree. */
export interface GuardedPath {
  path: string;
  /** The setting of git that names it, e.g. `core.hookspath`; absent: it is the PRD of the run. */
  setting?: string;
}

/** How the stories of a run may follow each other. */
export interface Scheduling {
  /** Most stories at once. */
  parallel: number;
  /** Whether a story that failed for good ends the run, or holds back only what depends on it. */
  onFailure: 'stop' | 'continue';
}

/** One try at one story. `attempt` counts from 1. */
export interface AttemptRef {
  story: string;
  attempt: number;
}

/** A proven commit that waits for a person. */
export interface HeldCommit {
  commit: string;
  /** The protected paths that it changes; none: every story of the run waits. */
  paths: string[];
}

/** Whose fault a failed attempt was, how it is met, and what it says about trying on. */
export interface FailureNote {
  class: FailureClass;
  /** `halt`: there is no retry. */
  rule: RetryRule;
  cause?: FailureCause;
  sign: Omit<FailureSign, 'by'>;
}

export interface CommandResult {
  command: string;
  /** undefined when the sandbox was killed from outside. */
  exitCode: number | undefined;
  ms: number;
  /** The end of its output, when it failed. */
  tail?: string;
  /** The tests that failed, where its output names them. */
  failed?: FailedTests;
}

/** Whose run it is and when its turn comes; journals from before this was kept lack all of it. */
export interface Submission {
  /** Who submitted it: a user of the operating system, or the name that came with the API request. */
  user?: string;
  /** The agent that works on it. */
  agent?: string;
  /** Smaller goes first; 0 when absent. */
  priority?: number;
  /** Ids of the runs that must end with SUCCESS before this one starts. */
  after?: string[];
  batch?: BatchRef;
}

/** One repository's place in the runs made by one submit. */
export interface BatchRef {
  id: string;
  /** What the batch calls this run. */
  name: string;
  /** Its place in the order of the batch, from 0. */
  place: number;
}

/** `met`: it ended with SUCCESS; `failed`: with anything else, until a person makes it go on. */
export type NeedStatus = 'open' | 'met' | 'failed';

/** What happened, without the envelope. */
export type JournalEntry =
  | ({
      type: 'run.created';
      runId: string;
      repo: RunRepo;
      prdPath: string;
      prd: Prd;
      attempts: number;
      /** The `halo run` that works on it, as store/presence.ts names it; for as long as that lives, nobody else does. */
      owner?: string;
      /** Whether `prdPath` is a file of the machine that made the run, and not one elsewhere. */
      prdIsHere?: boolean;
      /** What it makes is taken over only after a person said yes to all of it. */
      needsApproval?: true;
      /** Its repository is halo's own and goes with its end: there is nothing to take over. */
      scratch?: true;
      /** It is kept to say why it could not begin, and never will; its end follows at once. */
      refused?: true;
    } & Partial<Scheduling> &
      Submission)
  /** A run that this one waits for ended, or goes on again. `base`: what this run now builds on. */
  | { type: 'need.changed'; run: string; now: NeedStatus; stopReason?: StopReason; base?: string }
  /** `channel`: how its sandboxes reach their gateways, from first to last. */
  | { type: 'run.started'; channel?: 'socket' | 'stdio' }
  /** A `halo run` goes on with it and has it for itself, as with `owner` of `run.created`. */
  | { type: 'run.claimed'; owner: string }
  /** `by`: the person who ended it, where one did. */
  | { type: 'run.ended'; stopReason: StopReason; detail: string; by?: string }
  /** A person lets the run rest; `now`: in the middle of its stories, which cost no attempt then. */
  | { type: 'run.paused'; by: string; now: boolean }
  | { type: 'run.resumed'; by: string }
  /** A person lets a run that may have ended go on, and these stories be done anew with all of their attempts. */
  | { type: 'run.retried'; by: string; stories: string[] }
  /**
   * A person gave the run other settings: `set` as they wrote them, `change` the sections of the configuration that are
   * others now, and `attempts` the most attempts a story may use, where that changed.
   */
  | { type: 'run.reconfigured'; by: string; set: string[]; change: Record<string, unknown>; attempts?: number }
  /** A person gave the run another PRD; `changed` are ids of stories that it had before with another text. */
  | { type: 'run.replanned'; by: string; prd: Prd; prdPath: string; changed: string[] }
  /** A person decided on all that the run made up to `tip`; the last word counts. */
  | { type: 'run.approved'; by: string; tip: string }
  | { type: 'run.rejected'; by: string; tip: string; reason: string }
  | { type: 'run.landed'; branch: string; from: string; to: string }
  /** These stories have landed, but the PRD file could not be made to say so. */
  | { type: 'marks.failed'; stories: string[]; reason: string }
  /** The PRD file says again what has landed. */
  | { type: 'marks.caught_up' }
  /** `image`: the id of the image that its commands run in. */
  | ({
      type: 'story.started';
      epoch: number;
      base: string;
      image?: string;
      /** The process that began it, as lib/process-life.ts marks it. */
      worker?: string;
    } & AttemptRef)
  | ({ type: 'phase.started'; phase: Phase } & AttemptRef)
  | ({ type: 'phase.ended'; phase: Phase; ms: number } & AttemptRef)
  | ({ type: 'setup.ended'; phase: 'setup' | 'gates'; log: string } & CommandResult & AttemptRef)
  | ({ type: 'agent.activity'; activity: AgentActivity } & AttemptRef)
  /** Requests of one sandbox to its gateway that were alike. */
  | ({ type: 'network.asked'; phase: NetworkPhase } & NetworkAsked & AttemptRef)
  /**
   * One answer of a model. `told`: whether it told all that it used; else `usage` has the cost of all that was held for
   * it. `tokens` count against budgets.
   */
  | ({ type: 'model.used'; model: string; told: 'all' | 'part'; usage: Usage; tokens: number } & AttemptRef)
  /** Requests for a model wait: its provider asked for a pause, or the configured rate is reached. `until`: ISO 8601. */
  | ({ type: 'model.paused'; model: string; why: 'provider' | 'rate'; until: string } & AttemptRef)
  | ({ type: 'gate.started'; command: string } & AttemptRef)
  /** Before a gate: what setup and earlier gates had made of the tree was undone. */
  | ({ type: 'tree.restored'; command: string } & Restored & AttemptRef)
  /** `sha256` is that of the output, hex. */
  | ({ type: 'gate.ended'; log: string; sha256?: string } & CommandResult & AttemptRef)
  | ({
      type: 'story.ended';
      verdict: Verdict;
      stopReason: StopReason;
      summary: string;
      usage: Usage;
      /** The landed commit, when the verdict is passed. */
      commit?: string;
      /** What an approval would land, when a protected path is why a person is needed. */
      held?: HeldCommit;
      /** Paths that another story of the run changed as well and landed first: the attempt costs none. */
      conflicts?: string[];
      /** When the verdict is failed; journals of older versions lack it. */
      failure?: FailureNote;
    } & AttemptRef)
  /** Something around the story failed and cut the attempt short: no verdict on the story. */
  | ({ type: 'story.disturbed'; class: FailureClass; stopReason: StopReason; summary: string } & AttemptRef)
  /** Its worker stopped in good order in the middle of it: nobody's fault. */
  | ({ type: 'story.returned' } & AttemptRef)
  /** The attempt that failed is followed by another, the `nth` retry of at most `of`, not before a time (ISO 8601). */
  | ({
      type: 'retry.scheduled';
      class: FailureClass;
      rule: RetryRule;
      nth: number;
      of: number;
      notBefore: string;
      why: string;
    } & AttemptRef)
  /** A breaker that runs share is open: the attempt waits until it is asked again (ISO 8601). */
  | ({ type: 'breaker.held'; key: string; why: string; notBefore: string } & AttemptRef)
  /** The breaker of the run: no story of it is tried any more. */
  | { type: 'breaker.opened'; reason: string }
  /** A person closed a breaker: `run`, the run's own, or the shared one of that key. */
  | { type: 'breaker.reset'; key: string }
  /** The story adds what looks like a secret; the list may be cut. */
  | ({ type: 'secrets.suspected'; suspects: { path: string; names: string[] }[] } & AttemptRef)
  /** The story adds characters to text files that people do not see. */
  | ({ type: 'hidden.added'; hidden: HiddenPlaces } & AttemptRef)
  /** Tests after the story against those of its base; the lists of names may be cut. */
  | ({ type: 'tests.compared' } & TestChanges & AttemptRef)
  /** What the agent says satisfies the criteria; `reported`: whether the gates named their tests. */
  | ({ type: 'criteria.claimed'; criteria: CheckedClaim[]; reported: boolean } & AttemptRef)
  /** Others landed meanwhile: the change of `commit` was merged onto `onto` as `merged`, which has to prove itself. */
  | ({ type: 'story.merged'; commit: string; onto: string; merged: string } & AttemptRef)
  /** A commit has landed, but its record could not be attached to it. */
  | ({ type: 'note.failed'; commit: string; reason: string } & AttemptRef)
  /** A person let a held commit land; the run goes on. Journals of older versions do not say who. */
  | ({ type: 'story.approved'; commit: string; by?: string } & AttemptRef)
  /**
   * A person said yes to a held commit that no longer builds on the newest one of the run: a worker merges it onto that,
   * proves it again and lands it.
   */
  | ({ type: 'approval.given'; commit: string; by: string } & AttemptRef)
  /** A person refused a held commit. */
  | ({ type: 'story.rejected'; commit: string; reason: string; by?: string } & AttemptRef)
  /** A person took the story out of the run. */
  | ({ type: 'story.cancelled'; by: string } & AttemptRef)
  /** The attempt was given up in the middle because a person said so: no verdict. It had used this much. */
  | ({ type: 'story.stopped'; usage: Usage } & AttemptRef);

/** One line of journal.jsonl. `seq` counts from 1 without gaps; `at` is ISO 8601 in UTC. */
export type JournalEvent = { v: typeof JOURNAL_VERSION; seq: number; at: string } & JournalEntry;
