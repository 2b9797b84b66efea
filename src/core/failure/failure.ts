import type { Phase } from '../journal/phase.ts';
import type { StopReason } from './stop-reason.ts';

/** Who or what caused a failure, and so who has to fix it. */
export const FAILURE_CLASSES = [
  'agent',
  'story',
  'gate',
  'tests',
  'policy',
  'environment',
  'infrastructure',
  'provider',
  'budget',
] as const;
export type FailureClass = (typeof FAILURE_CLASSES)[number];

/**
 * How halo reacts to a failure. `hint`: retry with the failure and the end of its log in the prompt; `fresh`: retry with
 * one sentence about it; `wait`: retry without any mention of it; `halt`: no retry.
 */
export const RETRY_RULES = ['hint', 'fresh', 'wait', 'halt'] as const;
export type RetryRule = (typeof RETRY_RULES)[number];

/** What follows from a cause. */
interface CauseRow extends FailureKind {
  /** The displayed reason; undefined: the stop reason. */
  reason?: string;
  /** What to change before a retry can succeed, and the setting that changes it. */
  once?: { set?: string; why: string };
  /** What to change in the repository or in settings that are fixed for the run, before a new run can succeed. */
  repair?: string;
  /** Whether a failed command fails without the agent's work, too; undefined: if the class is `environment`. */
  withoutAgent?: boolean;
  /** What may help: a different wording of the PRD, or what `halo doctor` finds on the machine. */
  helps?: 'wording' | 'doctor';
  /** What is in the repository is the cause, and the agent can change it: it says nothing about other stories. */
  ofContent?: true;
  /** Only the summary identifies what failed, not the cause. */
  varied?: true;
}

const REPAIR_BASE = 'repairing the gate or the repository and committing it';

/** Causes that refine a stop reason: each has a class, and some a rule that configuration cannot change. */
const CAUSES = {
  'gave-up': { class: 'story', reason: 'AGENT_GAVE_UP', helps: 'wording' },
  /** The agent reported success but changed no files. */
  'no-changes': { class: 'agent', reason: 'NO_CHANGES', helps: 'wording' },
  /** The agent printed or stored more than `[limits]` allows. */
  'agent-overflow': { class: 'agent', reason: 'LIMIT_REACHED' },
  'context-overflow': { class: 'story', rule: 'fresh', helps: 'wording' },
  /** The agent left a folder with a git repository of its own. */
  'nested-repository': { class: 'story', ofContent: true },
  /** The agent has left files without read permission. */
  'unreadable-files': { class: 'story', ofContent: true },
  /** The session that writes tests changed other files. */
  'other-files': { class: 'tests' },
  'permission-denied': { class: 'policy', rule: 'halt' },
  // Each retry would show the agent whether its guess is closer.
  'known-secret': { class: 'policy', rule: 'halt' },
  'disk-floor': { class: 'environment', helps: 'doctor' },
  /** A setup command before the agent did not exit 0, for an unknown reason. */
  'setup-failed': { class: 'environment', reason: 'SETUP_FAILED', varied: true },
  /** A service of a command did not get ready, or ended before it. */
  'service-failed': { class: 'environment', reason: 'SERVICE_FAILED', varied: true },
  /** The gate fails on the base commit in the same way, so another attempt would probably fail, too. */
  'base-broken': {
    ...{ class: 'environment', rule: 'halt', reason: 'BASE_BROKEN', repair: REPAIR_BASE },
    once: { set: 'tests.broken_base=retry', why: 'retry on the same commit, and let the agent repair it' },
  },
  /** The gate fails on the base commit, too, but in another way, or the configuration wants the agent to repair it. */
  'base-fails': { class: 'gate', repair: REPAIR_BASE, withoutAgent: true },
  /** Neither the image nor setup provides a command. */
  'program-missing': {
    ...{ class: 'environment', rule: 'halt', reason: 'PROGRAM_MISSING' },
    repair: 'correcting setup or the gate in halo.toml',
    once: { set: 'image=…', why: 'retry in an image that has the program' },
  },
  /** Setup needs a host that the configuration does not allow. */
  'network-missing': { class: 'environment', rule: 'halt', reason: 'NETWORK_MISSING' },
  misconfigured: { class: 'environment', rule: 'halt', helps: 'doctor' },
  'server-away': { class: 'infrastructure', helps: 'doctor' },
  /** The repository existed when the run was submitted. */
  'repository-away': { class: 'infrastructure' },
  'worker-died': { class: 'infrastructure', rule: 'halt', helps: 'doctor' },
  'key-refused': {
    ...{ class: 'provider', rule: 'halt', reason: 'KEY_REFUSED' },
    once: { why: 'retry, after fixing the key; a worker reads variables only at its start' },
  },
  'not-paid': {
    ...{ class: 'provider', rule: 'halt', reason: 'ACCOUNT_NOT_PAID' },
    once: { why: 'retry, after paying for the account' },
  },
  'unknown-model': {
    ...{ class: 'provider', rule: 'halt', reason: 'MODEL_UNKNOWN' },
    once: { set: 'model.name=…', why: 'retry with another model' },
  },
  'rate-limited': {
    ...{ class: 'provider', reason: 'RATE_LIMITED' },
    once: { why: 'retry, when the provider accepts requests again' },
  },
  /** The model allows no request for longer than `retry.max_wait`. */
  'pause-too-long': {
    ...{ class: 'provider', rule: 'halt' },
    once: { set: 'retry.max_wait=…', why: 'retry, and wait for longer: enter a duration' },
  },
  'provider-failed': {
    ...{ class: 'provider', reason: 'PROVIDER_FAILED' },
    once: { why: 'retry, when the provider works' },
  },
  unreachable: {
    ...{ class: 'provider', reason: 'PROVIDER_UNREACHABLE' },
    once: { why: 'retry, when the provider can be reached' },
  },
} as const satisfies Record<string, CauseRow>;
export type FailureCause = keyof typeof CAUSES;
export const FAILURE_CAUSES = Object.keys(CAUSES) as FailureCause[];

/** The row of a known cause. */
export function causeRow(cause: FailureCause | undefined): CauseRow | undefined {
  return cause === undefined ? undefined : CAUSES[cause];
}

/** Whether a command with this cause fails without the agent's work, too. */
export function failsWithoutAgent(cause: FailureCause | undefined): boolean {
  const row = causeRow(cause);
  return row?.withoutAgent ?? row?.class === 'environment';
}

/** Whether a failure says something about the other stories of its repository, so that a breaker counts it. */
export function countsForBreaker(cause: FailureCause | undefined): boolean {
  return causeRow(cause)?.ofContent !== true;
}

/** The setting whose limit ended an attempt. A rate, as in `rate.my-model.rph`, is fixed when its run is created. */
export type LimitKey = `limits.${string}` | `budget.${string}` | `rate.${string}.rph`;

/** The facts that classify a failure. */
export interface FailureFacts {
  stopReason: StopReason;
  /** The phase in which it happened. */
  phase?: Phase | undefined;
  cause?: FailureCause | undefined;
}

interface FailureKind {
  class: FailureClass;
  /** Overrides the rule of the class. */
  rule?: RetryRule;
}

/** Classifies a failure by its cause, else by its phase, else by its stop reason. */
export function classifyFailure({ stopReason, phase, cause }: FailureFacts): FailureKind {
  if (cause !== undefined) return CAUSES[cause];
  if (phase === 'setup' && COMMAND_REASONS.includes(stopReason)) return { class: 'environment' };
  if (phase === 'gates' && COMMAND_REASONS.includes(stopReason)) return { class: 'gate' };
  return { class: CLASS_BY_REASON[stopReason] ?? 'infrastructure' };
}

/** Stop reasons of the user's commands; their class depends on the phase. */
const COMMAND_REASONS: readonly StopReason[] = ['GATE_FAILED', 'TIMEOUT', 'OUT_OF_MEMORY', 'ENGINE_ERROR'];

const CLASS_BY_REASON: Partial<Record<StopReason, FailureClass>> = {
  ENGINE_ERROR: 'agent',
  INVALID_OUTPUT: 'agent',
  TIMEOUT: 'story',
  OUT_OF_MEMORY: 'story',
  TESTS_NOT_RED: 'tests',
  TESTS_MISSING: 'tests',
  GATE_FAILED: 'gate',
  POLICY_VIOLATION: 'policy',
  CONFLICT: 'environment',
  BUDGET_EXCEEDED: 'budget',
  MISSING_DEPENDENCY: 'environment',
  NOT_A_GIT_REPO: 'environment',
  CANNOT_START: 'environment',
  VALIDATION_FAILED: 'environment',
};

/** Whether failures of a class use up attempts; failures outside the story's control do not. */
export function consumesAttempt(failure: FailureClass): boolean {
  return failure === 'agent' || failure === 'story' || failure === 'gate';
}

/** Names a retry: `attempt 2 of 3` if it uses up an attempt, else `retry 1 of 5`. */
export function retryName({ class: of, nth = 1, of: max = 1 }: RetryCount): string {
  return of !== undefined && consumesAttempt(of) ? `attempt ${nth + 1} of ${max + 1}` : `retry ${nth} of ${max}`;
}

/** Which retry of how many, after which class of failure. */
interface RetryCount {
  class?: FailureClass | undefined;
  nth?: number | undefined;
  of?: number | undefined;
}

/** Whether a failure is about the work on the story, not about its environment. */
export function isStoryFailure(failure: FailureClass): boolean {
  return consumesAttempt(failure) || failure === 'tests' || failure === 'policy';
}

/** The retry policy of one failure class. */
export interface ClassPolicy {
  rule: RetryRule;
  /** The first delay, in ms; undefined: `RetryPolicy.backoffMs`. */
  backoffMs?: number | undefined;
  /** Maximum retries of a story, for classes that do not use up attempts. */
  retries?: number | undefined;
}

/** `[retry]` of the configuration, with a policy for each class. */
export interface RetryPolicy extends Readonly<Record<FailureClass, ClassPolicy>> {
  /** Maximum attempts per story, not counting failures outside its control. */
  attempts: number;
  backoffMs: number;
  maxBackoffMs: number;
  /** The factor between consecutive delays. */
  multiplier: number;
  /** The maximum random reduction of a delay, as a fraction from 0 to 1. */
  jitter: number;
  /** Maximum consecutive worker crashes during a story. */
  crashes: number;
  /** How long an attempt may wait in total for pauses of its model, in ms. */
  maxWaitMs: number;
}

/** Failures of a story by class. */
export type FailureTally = Partial<Record<FailureClass, number>>;

interface RetryRequest {
  kind: FailureKind;
  /** Earlier failures, without this one. */
  before: FailureTally;
  policy: RetryPolicy;
  /** Identifies the failure, so that the jitter is deterministic. */
  seed: string;
}

export interface RetryDecision {
  class: FailureClass;
  /** Also `halt` when no retry is left. */
  rule: RetryRule;
  /** The next retry: its number, the maximum, and the delay in ms. */
  retry?: { nth: number; of: number; waitMs: number };
}

/** Decides whether and when a failed story is retried. */
export function decideRetry({ kind, before, policy, seed }: RetryRequest): RetryDecision {
  const { rule: classRule, retries = 0, backoffMs } = policy[kind.class];
  const rule = classRule === 'halt' ? classRule : (kind.rule ?? classRule);
  const own = consumesAttempt(kind.class);
  const failures = (own ? usedAttempts(before) : (before[kind.class] ?? 0)) + 1;
  const of = own ? policy.attempts - 1 : retries;
  if (rule === 'halt' || failures > of) return { class: kind.class, rule: 'halt' };
  const waitMs = backoff({ ...policy, backoffMs: backoffMs ?? policy.backoffMs }, { failures, seed });
  return { class: kind.class, rule, retry: { nth: failures, of, waitMs } };
}

/** Attempts that failures of the story's own have used up. */
function usedAttempts(tally: FailureTally): number {
  return FAILURE_CLASSES.filter(consumesAttempt).reduce((sum, each) => sum + (tally[each] ?? 0), 0);
}

type Backoff = Pick<RetryPolicy, 'backoffMs' | 'maxBackoffMs' | 'multiplier' | 'jitter'>;

/** The delay after the n-th failure, in ms: exponential up to a maximum; jitter only shortens it. */
export function backoff(
  { backoffMs, maxBackoffMs, multiplier, jitter }: Backoff,
  { failures, seed }: { failures: number; seed: string },
): number {
  const full = Math.min(maxBackoffMs, backoffMs * multiplier ** (failures - 1));
  return Math.round(full * (1 - jitter * stableFraction(`${seed}#${failures}`)));
}

/** A deterministic pseudo-random number in [0, 1) for a text (FNV-1a with a final mix: short, and the same on every machine). */
function stableFraction(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  // Texts that differ only at their end must not give similar numbers.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
