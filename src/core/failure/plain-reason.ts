import type { FailureCause, FailureClass } from './failure.ts';
import type { StopReason } from './stop-reason.ts';

/** Words for causes that a stop reason of the closed list only hints at. */
const OF_CAUSE: Partial<Record<FailureCause, string>> = {
  'gave-up': 'AGENT_GAVE_UP',
  'no-changes': 'NO_CHANGES',
  'program-missing': 'PROGRAM_MISSING',
  'network-missing': 'NETWORK_MISSING',
  'key-refused': 'KEY_REFUSED',
  'not-paid': 'ACCOUNT_NOT_PAID',
  'unknown-model': 'MODEL_UNKNOWN',
  'rate-limited': 'RATE_LIMITED',
  'provider-failed': 'PROVIDER_FAILED',
  unreachable: 'PROVIDER_UNREACHABLE',
};

/**
 * The word that people read for the end of a story: the stop reason, or a plainer word where more is known. Records,
 * JSON and exit codes have the stop reason.
 */
export function plainReason(
  stopReason: StopReason,
  failure: { class: FailureClass; cause?: FailureCause | undefined } | undefined,
): string {
  const word = failure?.cause === undefined ? undefined : OF_CAUSE[failure.cause];
  if (word !== undefined) return word;
  // Of commands, the class of setup before the agent alone.
  if (stopReason === 'GATE_FAILED' && failure?.class === 'environment') return 'SETUP_FAILED';
  if (stopReason !== 'ENGINE_ERROR') return stopReason;
  // A command of setup or a gate that printed or stored too much.
  return failure?.class === 'gate' || failure?.class === 'environment' ? 'LIMIT_REACHED' : 'AGENT_FAILED';
}
