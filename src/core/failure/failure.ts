import { shareOf } from '../jitter.ts';
import type { Phase } from '../phase.ts';
import type { StopReason } from './stop-reason.ts';

/** Whose fault a failure is, and so who has to mend it. */
export const FAILURE_CLASSES = [
  'agent',
  'story',
  'gate',
  'policy',
  'environment',
  'infrastructure',
  'provider',
  'budget',
] as const;
export type FailureClass = (typeof FAILURE_CLASSES)[number];

/**
 * How a failure is met. `hint`: again, with the failure and the end of its log in the prompt; `fresh`: again, told in
 * one sentence; `wait`: the same again, as if nothing had happened; `halt`: not again.
 */
export const RETRY_RULES = ['hint', 'fresh', 'wait', 'halt'] as const;
export type RetryRule = (typeof RETRY_RULES)[number];

/** What a stop reason alone does not tell: each has a class, and some a rule that no configuration changes. */
const CAUSES = {
  'gave-up': { class: 'story' },
  /** It claimed success, and left the workspace as it was. */
  'no-changes': { class: 'agent' },
  'context-overflow': { class: 'story', rule: 'fresh' },
  'permission-denied': { class: 'policy', rule: 'halt' },
  // Each try would tell the agent whether it has come closer.
  'known-secret': { class: 'policy', rule: 'halt' },
  'disk-floor': { class: 'environment' },
  /** A command that neither the image nor setup provides. */
  'program-missing': { class: 'environment', rule: 'halt' },
  /** Setup needs what no setting lets it reach. */
  'network-missing': { class: 'environment', rule: 'halt' },
  misconfigured: { class: 'environment', rule: 'halt' },
  'server-away': { class: 'infrastructure' },
  /** It was there when the run was made. */
  'repository-away': { class: 'infrastructure' },
  'worker-died': { class: 'infrastructure', rule: 'halt' },
  'key-refused': { class: 'provider', rule: 'halt' },
  'not-paid': { class: 'provider', rule: 'halt' },
  'unknown-model': { class: 'provider', rule: 'halt' },
  'rate-limited': { class: 'provider' },
  'provider-failed': { class: 'provider' },
  unreachable: { class: 'provider' },
} as const satisfies Record<string, { class: FailureClass; rule?: RetryRule }>;
export type FailureCause = keyof typeof CAUSES;

/** What is known of a failure. */
export interface FailureFacts {
  stopReason: StopReason;
  /** The phase that it ended. */
  phase?: Phase | undefined;
  cause?: FailureCause | undefined;
}

export interface FailureKind {
  class: FailureClass;
  /** The rule that goes before that of the class. */
  rule?: RetryRule;
}

/** The class of a failure: by its cause, else by where it happened, else by its stop reason. */
export function classify({ stopReason, phase, cause }: FailureFacts): FailureKind {
  if (cause !== undefined) return CAUSES[cause];
  if (phase === 'setup' && OF_COMMANDS.includes(stopReason)) return { class: 'environment' };
  if (phase === 'gates' && OF_COMMANDS.includes(stopReason)) return { class: 'gate' };
  return { class: BY_REASON[stopReason] ?? 'infrastructure' };
}

/** How a command of the user's can fail; whose fault that is depends on the phase. */
const OF_COMMANDS: readonly StopReason[] = ['GATE_FAILED', 'TIMEOUT', 'OUT_OF_MEMORY', 'ENGINE_ERROR'];

const BY_REASON: Partial<Record<StopReason, FailureClass>> = {
  ENGINE_ERROR: 'agent',
  INVALID_OUTPUT: 'agent',
  TIMEOUT: 'story',
  OUT_OF_MEMORY: 'story',
  TESTS_NOT_RED: 'story',
  GATE_FAILED: 'gate',
  POLICY_VIOLATION: 'policy',
  CONFLICT: 'environment',
  BUDGET_EXCEEDED: 'budget',
  MISSING_DEPENDENCY: 'environment',
  NOT_A_GIT_REPO: 'environment',
  CANNOT_START: 'environment',
  VALIDATION_FAILED: 'environment',
};

/** Whether failures of a class use up the attempts of a story: what the story cannot help does not. */
export function consumesAttempt(failure: FailureClass): boolean {
  return failure === 'agent' || failure === 'story' || failure === 'gate';
}

/** Whether a failure says something of the work on a story, and not only of what is around it. */
export function isOfStory(failure: FailureClass): boolean {
  return consumesAttempt(failure) || failure === 'policy';
}

/** How one class is met. */
export interface ClassPolicy {
  rule: RetryRule;
  /** The first wait, in ms; undefined: that of all classes. */
  backoffMs: number | undefined;
  /** Most retries of a story, for classes that use up no attempts. */
  retries: number;
}

/** `[retry]` of the configuration. */
export interface RetryPolicy {
  /** Most attempts at one story that end in failures of its own. */
  attempts: number;
  backoffMs: number;
  maxBackoffMs: number;
  /** What each wait is multiplied by to give the next. */
  multiplier: number;
  /** The share of a wait, 0 to 1, that chance may take off. */
  jitter: number;
  /** Most times in a row that a worker may die in the middle of a story. */
  crashes: number;
  classes: Record<FailureClass, ClassPolicy>;
}

/** How often a story failed, by class. */
export type FailureTally = Partial<Record<FailureClass, number>>;

export interface RetryRequest {
  kind: FailureKind;
  /** Without this failure. */
  before: FailureTally;
  policy: RetryPolicy;
  /** Names the failure among all others, so that chance is the same whenever it is asked. */
  seed: string;
}

export interface RetryDecision {
  class: FailureClass;
  /** `halt` also when no retry is left. */
  rule: RetryRule;
  /** When there is to be a retry: which of how many, and after how many ms. */
  retry?: { nth: number; of: number; waitMs: number };
}

/** What to do about one more failure of a story. */
export function decideRetry({ kind, before, policy, seed }: RetryRequest): RetryDecision {
  const { rule: usual, retries, backoffMs } = policy.classes[kind.class];
  const rule = usual === 'halt' ? usual : (kind.rule ?? usual);
  const own = consumesAttempt(kind.class);
  const failures = (own ? spentAttempts(before) : (before[kind.class] ?? 0)) + 1;
  const of = own ? policy.attempts - 1 : retries;
  if (rule === 'halt' || failures > of) return { class: kind.class, rule: 'halt' };
  const waitMs = backoff({ ...policy, backoffMs: backoffMs ?? policy.backoffMs }, { failures, seed });
  return { class: kind.class, rule, retry: { nth: failures, of, waitMs } };
}

/** Attempts that a story has used up by failures of its own. */
function spentAttempts(tally: FailureTally): number {
  return FAILURE_CLASSES.filter(consumesAttempt).reduce((sum, each) => sum + (tally[each] ?? 0), 0);
}

type Backoff = Pick<RetryPolicy, 'backoffMs' | 'maxBackoffMs' | 'multiplier' | 'jitter'>;

/** The wait after the n-th failure, in ms: it grows up to a cap, and chance makes it shorter, never longer. */
export function backoff(
  { backoffMs, maxBackoffMs, multiplier, jitter }: Backoff,
  { failures, seed }: { failures: number; seed: string },
): number {
  const full = Math.min(maxBackoffMs, backoffMs * multiplier ** (failures - 1));
  return Math.round(full * (1 - jitter * shareOf(`${seed}#${failures}`)));
}
