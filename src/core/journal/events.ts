import type { BudgetWarning } from '../budget.ts';
import type { AgentActivity, AgentId, Usage } from '../agent.ts';
import type { AgentOptions } from '../agent-options.ts';
import type { Breaker, FailureSign } from '../failure/breaker.ts';
import type { FailureCause, FailureClass, LimitKey, RetryRule } from '../failure/failure.ts';
import type { FallbackModel, KeyPause } from '../failure/model-use.ts';
import type { StopReason } from '../failure/stop-reason.ts';
import type { NotedFiles } from '../noted-files.ts';
import type { IssueStatus } from '../issues/issue-source.ts';
import type { Prd } from '../prd/prd.ts';
import type { CheckedClaim } from '../review/criteria.ts';
import type { Feedback } from '../review/feedback.ts';
import type { AskedQuestion, Unanswered } from '../run/questions.ts';
import type { Restored } from '../review/restored-paths.ts';
import type { FailedTests } from '../test-report/failed-tests.ts';
import type { HiddenPlaces } from '../text/hidden-places.ts';
import type { EgressRequests, NetworkPhase } from './egress-events.ts';
import type { Phase } from './phase.ts';
import type { RunCreated } from './run-created.ts';
import type { PullEntry } from '../pulls/pull-state.ts';
import type { LockedTests, TestsStep } from '../review/tests-first.ts';
import type { TestChanges } from '../test-report/test-report.ts';

/** The version of the journal's schema; increased when the meaning of an event changes. */
export const JOURNAL_VERSION = 1;

export type Verdict = 'passed' | 'failed' | 'needs_human';

/** A part of a prompt, with the tokens that are in it and those that were cut. */
export interface PromptPart {
  name: string;
  /** The file of the repository that it was read from. */
  file?: string;
  tokens: number;
  /** Absent: none. */
  cut?: number;
}

/** One try at one story. `attempt` counts from 1. */
export interface AttemptRef {
  story: string;
  attempt: number;
}

/** A commit that passed its gates and is waiting for approval. */
export interface HeldCommit {
  commit: string;
  /** The protected paths that it changes; empty if every story of the run needs approval. */
  paths: string[];
  /** The findings that the summary of the attempt names. */
  named?: ('protected' | 'hidden')[];
}

/** The class of a failed attempt, the rule applied to it, and its record for the breaker. */
export interface FailureNote {
  class: FailureClass;
  /** `halt`: there is no retry. */
  rule: RetryRule;
  cause?: FailureCause;
  limit?: LimitKey;
  sign: Omit<FailureSign, 'by'>;
}

/** The verdict of an attempt, and what a failure means for its story. */
export type Judged =
  | { verdict: Exclude<Verdict, 'failed'>; failure?: never }
  | { verdict: 'failed'; failure: FailureNote };

/** How much of an output a journal keeps, in bytes; a character that is cut may make it slightly more. */
export const TAIL_BYTES = 4_096;

export interface CommandResult {
  command: string;
  /** undefined when the sandbox was killed from outside. */
  exitCode: number | undefined;
  /** halo or a person stopped the attempt, which reveals nothing about the command. */
  interrupted?: true;
  ms: number;
  /** The last TAIL_BYTES of its output, if it failed. */
  tail?: string;
  /** The failed tests, if its output names them. */
  failed?: FailedTests;
}

/** `met`: it ended with SUCCESS; `failed`: it ended otherwise and was not retried. */
export type NeedStatus = 'open' | 'met' | 'failed';

/** An event without its envelope. */
export type JournalEntry =
  | RunCreated
  /** A run that this one depends on ended or was reopened. `base`: the new base of this run. */
  | { type: 'need.changed'; run: string; now: NeedStatus; stopReason?: StopReason; base?: string }
  /** `channel`: how all sandboxes of the run reach their gateways. */
  | { type: 'run.started'; channel?: 'socket' | 'stdio' }
  /** A `halo run` process takes exclusive ownership, as with `owner` of `run.created`. */
  | { type: 'run.claimed'; owner: string }
  /** `story`: the one that explains the end, if any; `by`: the user who ended it, if any. */
  | { type: 'run.ended'; stopReason: StopReason; detail: string; story?: string; by?: string }
  /** A user paused the run; `now`: running stories are interrupted, without using up an attempt. */
  | { type: 'run.paused'; by: string; now: boolean }
  | { type: 'run.resumed'; by: string }
  /** A user retried these stories with all of their attempts; reopens an ended run. `newTests`: without their locked tests. */
  | { type: 'run.retried'; by: string; stories: string[]; newTests?: true }
  /**
   * A user changed settings of the run: `set` as written, `change` the changed configuration sections, and `attempts` the
   * new maximum of attempts per story, if changed.
   */
  | { type: 'run.reconfigured'; by: string; set: string[]; change: Record<string, unknown>; attempts?: number }
  /** A user replaced the PRD of the run; `changed` are the ids of existing stories whose text changed. */
  | { type: 'run.replanned'; by: string; prd: Prd; prdPath: string; changed: string[] }
  /** A user approved or rejected the whole run up to `tip`; the last decision counts. */
  | { type: 'run.approved'; by: string; tip: string }
  | { type: 'run.rejected'; by: string; tip: string; reason: string }
  /** `by`: the user who landed the run; absent: halo did, with `land.mode`. */
  | { type: 'run.landed'; branch: string; from: string; to: string; by?: string }
  /** Retention removes the artifacts of the ended run, of so many bytes; `by`: a user, or `retention`. */
  | { type: 'run.pruned'; by: string; bytes: number }
  /** These stories have landed but could not be marked in the PRD file. */
  | { type: 'marks.failed'; stories: string[]; reason: string }
  /** The PRD file marks all landed stories again. */
  | { type: 'marks.caught_up' }
  /** `image`: the id of the image. */
  | ({
      type: 'story.started';
      epoch: number;
      base: string;
      image?: string;
      /** The process that started it, as lib/process-identity.ts names it. */
      worker?: string;
      /** How long it was ready before a worker started it; absent if it was not queued, or the clock of the queue was reset. */
      queuedMs?: number;
      /** The worker that started it earlier crashed. */
      workerDied?: true;
      fallback?: FallbackModel;
    } & AttemptRef)
  | ({ type: 'phase.started'; phase: Phase } & AttemptRef)
  | ({ type: 'phase.ended'; phase: Phase; ms: number } & AttemptRef)
  | ({ type: 'setup.ended'; phase: 'setup' | 'gates'; log: string } & CommandResult & AttemptRef)
  | (SnapshotEvent & AttemptRef)
  /** The prompt of the attempt; `missing`: files that could not be used, a sentence each. */
  | ({
      type: 'prompt.built';
      tokens: number;
      maxTokens: number;
      sections: PromptPart[];
      missing?: string[];
    } & AttemptRef)
  /** The program of the agent starts with these options; `model`: absent if it has no model route. */
  | ({ type: 'agent.launched'; agent: AgentId; model?: string } & AgentOptions & AttemptRef)
  | ({ type: 'agent.activity'; activity: AgentActivity } & AttemptRef)
  /** Identical requests of one sandbox to its gateway. */
  | ({ type: 'network.asked'; phase: NetworkPhase } & EgressRequests & AttemptRef)
  /**
   * One response of a model. `told`: `all` if it reported its full usage; otherwise `usage` has the reserved cost. `tokens`
   * count against budgets. `ms`: from the permission to send the request to the end of the response; absent if there was
   * none.
   */
  | ({
      type: 'model.used';
      model: string;
      told: 'all' | 'part';
      usage: Usage;
      tokens: number;
      ms?: number;
    } & AttemptRef)
  /** Four fifths of a budget have been spent. Amounts are millionths of a USD, or tokens. */
  | ({ type: 'budget.warned' } & BudgetWarning & AttemptRef)
  /** Requests for a model wait: its provider requested a pause, or the configured rate is reached. `until`: ISO 8601. */
  | ({ type: 'model.paused'; model: string; why: 'provider' | 'rate'; until: string } & AttemptRef)
  /** One of several keys is not used until a time; requests use the others. */
  | ({ type: 'key.paused' } & KeyPause & AttemptRef)
  | ({ type: 'gate.started'; command: string } & AttemptRef)
  /** Before a gate, halo reverted changes that setup and earlier gates had made to the tree. */
  | ({ type: 'tree.restored'; command: string } & Restored & AttemptRef)
  /** `sha256` of the output, hex. */
  | ({ type: 'gate.ended'; log: string; sha256?: string } & CommandResult & AttemptRef)
  | ({
      type: 'story.ended';
      stopReason: StopReason;
      summary: string;
      usage: Usage;
      /** The landed commit, if the verdict is passed. */
      commit?: string;
      /** A worker had landed the commit and died; the next one found it. */
      recovered?: true;
      /** In a dry run: the summary describes the change. */
      described?: true;
      /** The commit that an approval would land. */
      held?: HeldCommit;
      /** The commit with what the agent left when it asked a question. */
      left?: string;
      question?: AskedQuestion;
      /** Paths in conflict with another story that landed first; the attempt is not counted. */
      conflicts?: string[];
    } & Judged &
      AttemptRef)
  /** An infrastructure failure interrupted the attempt: no verdict on the story. */
  | ({ type: 'story.disturbed'; class: FailureClass; stopReason: StopReason; summary: string } & AttemptRef)
  /** Its worker shut down cleanly during the attempt: not a failure. */
  | ({ type: 'story.returned' } & AttemptRef)
  /** The failed attempt will be retried, as the `nth` retry of at most `of`, not before a time (ISO 8601). */
  | ({
      type: 'retry.scheduled';
      class: FailureClass;
      rule: RetryRule;
      nth: number;
      of: number;
      notBefore: string;
      why: string;
    } & AttemptRef)
  /**
   * The model of the attempt allows no request before a time (ISO 8601), at which the attempt begins again. Not a failure.
   * `by`: its provider requested a pause, or the configured rate is reached.
   */
  | ({ type: 'story.postponed'; model: string; by: 'provider' | 'rate'; why: string; notBefore: string } & AttemptRef)
  /** A shared breaker is open: the attempt waits until a time (ISO 8601) and asks again. */
  | ({ type: 'breaker.held'; key: string; why: string; notBefore: string } & AttemptRef)
  /** The attempt changed a shared breaker: it opened it, is its trial (`half-open`), or closed it. `why`: if it opened it. */
  | ({ type: 'breaker.changed'; key: string; status: Breaker['status']; why?: string } & AttemptRef)
  /** The run's breaker opened: no story of it is started. */
  | { type: 'breaker.opened'; reason: string }
  /** A user reset a breaker: `run` is the run's own, any other key a shared one. */
  | { type: 'breaker.reset'; key: string }
  /** The story adds possible secrets; the list may be truncated. */
  | ({ type: 'secrets.suspected'; suspects: { path: string; names: string[] }[] } & AttemptRef)
  /** The story adds hidden characters to text files. */
  | ({ type: 'hidden.added'; hidden: HiddenPlaces } & AttemptRef)
  /** The story adds large files or changes lock files; the lists may be truncated. */
  | ({ type: 'files.noted' } & NotedFiles & AttemptRef)
  /** About the tests of the story. */
  | (TestsEntry & AttemptRef)
  /** The agent's claims about the criteria; `reported`: whether the gates named their tests. */
  | ({ type: 'criteria.claimed'; criteria: CheckedClaim[]; reported: boolean } & AttemptRef)
  /** Other stories landed first: `commit` was merged onto `onto` as `merged`, whose gates run again. */
  | ({ type: 'story.merged'; commit: string; onto: string; merged: string } & AttemptRef)
  /** A commit landed, but its proof could not be attached as a note. */
  | ({ type: 'note.failed'; commit: string; reason: string } & AttemptRef)
  /** A user approved a commit, which landed. */
  | ({ type: 'story.approved'; commit: string; by: string } & AttemptRef)
  /** A user approved a commit that is behind the tip of the run: a worker merges it, runs its gates again and lands it. */
  | ({ type: 'approval.given'; commit: string; by: string } & AttemptRef)
  /** A user rejected a commit. */
  | ({ type: 'story.rejected'; commit: string; reason: string; by: string } & AttemptRef)
  /** A user sent a commit back: the story is started again with the feedback. */
  | ({ type: 'feedback.given' } & Feedback & AttemptRef)
  /** A user answered the question with which the attempt ended; the story is started again. */
  | ({
      type: 'story.answered';
      text: string;
      by: string;
      /** The option that was chosen, from 1. */
      option?: number;
      /** It was not answered in time: `by` is `halo`. */
      default?: true;
    } & AttemptRef)
  /** The question was not answered in time: the story fails, or is left out. */
  | ({ type: 'question.expired'; then: Exclude<Unanswered, 'first-option'>; by: string } & AttemptRef)
  /** A user cancelled the story; or its issue was withdrawn: then `by` is the project of the issue, and `why` a sentence. */
  | ({ type: 'story.cancelled'; by: string; why?: string } & AttemptRef)
  /** Before an attempt: the issue of the story was edited, or could not be read. The attempt uses the submitted text. */
  | ({ type: 'issue.noted'; found: 'edited' | 'unread'; why: string } & AttemptRef)
  /** About its pull requests. */
  | PullEntry
  /** The issue of the story shows this status, or was closed. */
  | ({ type: 'issue.reported'; status: IssueStatus | 'closed' } & AttemptRef)
  /** A user's command stopped the attempt: no verdict. `usage`: the usage until then. */
  | ({ type: 'story.stopped'; usage: Usage } & AttemptRef);

/** One line of journal.jsonl. `seq` counts from 1 without gaps; `at` is ISO 8601 in UTC. */
export type JournalEvent = { v: typeof JOURNAL_VERSION; seq: number; at: string } & JournalEntry;

/** A stored file of an attempt. */
export interface Artifact {
  /** Below artifacts/: `<story key>/<attempt>/<name>`, e.g. `us-001-0c1f2a3b/2/gates/1.log`. */
  path: string;
  bytes: number;
  /** ISO 8601 */
  changedAt: string;
}

/** What became of setup before the agent (`setup`) or before the gates. */
type SnapshotEvent =
  /** Setup runs in a workspace of its own, to make a snapshot or, if `again`, to compare with one. */
  | { type: 'snapshot.started'; phase: 'setup' | 'gates'; again?: true }
  /** Workspaces begin with a snapshot, which setup `made` in this attempt or before. `key`, `digest`: SHA-256. */
  | {
      type: 'snapshot.used';
      phase: 'setup' | 'gates';
      key: string;
      digest: string;
      mode: 'overlay' | 'copy';
      made?: true;
      /** Why a change of any file needs another one; a clause. Only if it was `made`. */
      wholeTree?: string;
    }
  /** The result of setup cannot be a snapshot, or differs from it; `reason` is a clause. Setup runs for each workspace. */
  | { type: 'snapshot.refused'; phase: 'setup' | 'gates'; reason: string };

/** Events about the tests of a story, without its name. */
type TestsEntry =
  /** What was found about the tests that were written first; `why`: what is wrong with them. */
  | { type: 'tests.judged'; step: TestsStep; why?: string }
  /**
   * Tests that failed on the base commit: from now on the attempt may not change them. `commit`: with the tests, on `base`;
   * `from`: the earlier attempt that wrote them, if it was not this one.
   */
  | ({ type: 'tests.locked'; base: string; commit: string; from?: number } & LockedTests)
  /**
   * An agent refactored the change; `why`: why its work was dropped, and the change lands as it was; `unchanged`: because it
   * found nothing to improve.
   */
  | { type: 'refactor.ended'; kept: boolean; why?: string; unchanged?: true }
  /** Tests of the candidate compared with those of its base; the lists may be truncated. */
  | ({ type: 'tests.compared' } & TestChanges);
