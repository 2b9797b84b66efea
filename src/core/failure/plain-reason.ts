import type { FailureCause, FailureClass } from './failure.ts';
import type { StopReason } from './stop-reason.ts';

/** More specific reasons for causes than the stop reasons of the closed list. */
const REASON_BY_CAUSE: Partial<Record<FailureCause, string>> = {
  'gave-up': 'AGENT_GAVE_UP',
  'agent-overflow': 'LIMIT_REACHED',
  'no-changes': 'NO_CHANGES',
  'base-broken': 'BASE_BROKEN',
  'program-missing': 'PROGRAM_MISSING',
  'network-missing': 'NETWORK_MISSING',
  'key-refused': 'KEY_REFUSED',
  'not-paid': 'ACCOUNT_NOT_PAID',
  'unknown-model': 'MODEL_UNKNOWN',
  'rate-limited': 'RATE_LIMITED',
  'provider-failed': 'PROVIDER_FAILED',
  unreachable: 'PROVIDER_UNREACHABLE',
};

type KnownFailure = { class: FailureClass; cause?: FailureCause | undefined } | undefined;

/** Whether the program of the agent failed, and only its stderr may say why. */
export function isAgentFault(stopReason: StopReason, failure: KnownFailure): boolean {
  if (stopReason !== 'ENGINE_ERROR' || (failure?.cause !== undefined && failure.cause in REASON_BY_CAUSE)) return false;
  return failure?.class !== 'gate' && failure?.class !== 'environment';
}

/**
 * The displayed reason for the end of a story: the stop reason, or a more specific one if the cause is known. Journal,
 * JSON and exit codes use the stop reason.
 */
export function plainReason(stopReason: StopReason, failure: KnownFailure): string {
  const word = failure?.cause === undefined ? undefined : REASON_BY_CAUSE[failure.cause];
  if (word !== undefined) return word;
  // Only setup commands before the agent have this class.
  if (stopReason === 'GATE_FAILED' && failure?.class === 'environment') return 'SETUP_FAILED';
  if (stopReason !== 'ENGINE_ERROR') return stopReason;
  // A setup command or gate exceeded its output or disk limit.
  return isAgentFault(stopReason, failure) ? 'AGENT_FAILED' : 'LIMIT_REACHED';
}
