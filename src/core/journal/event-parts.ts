import type { FailureSign } from '../failure/breaker.ts';
import type { FailureCause, FailureClass, LimitKey, RetryRule } from '../failure/failure.ts';
import type { Verdict } from '../run/progress.ts';
import type { FailedTests } from '../test-report/failed-tests.ts';

/** The version of the journal's schema; increased when the meaning of an event changes. */
export const JOURNAL_VERSION = 1;

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

/** A stored file of an attempt. */
export interface Artifact {
  /** Below artifacts/: `<story key>/<attempt>/<name>`, e.g. `us-001-0c1f2a3b/2/gates/1.log`. */
  path: string;
  bytes: number;
  /** ISO 8601 */
  changedAt: string;
}

/** A service that got ready. `ms`: from its start; `preparedMs`: how long its data was prepared before, if it had to be. */
export interface ReadyService {
  name: string;
  ms: number;
  preparedMs?: number;
}
