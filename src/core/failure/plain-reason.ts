import { causeRow, type FailureCause, type FailureClass } from './failure.ts';
import { safeLine } from '../text/safe-text.ts';
import type { StopReason } from './stop-reason.ts';

type KnownFailure = { class: FailureClass; cause?: FailureCause | undefined } | undefined;

/** Whether the program of the agent failed, and only its stderr may say why. */
export function isAgentFault(stopReason: StopReason, failure: KnownFailure): boolean {
  if (stopReason !== 'ENGINE_ERROR' || causeRow(failure?.cause)?.reason !== undefined) return false;
  return failure?.class !== 'gate' && failure?.class !== 'environment';
}

/**
 * The reason for a person, who reads it behind the word `failed`: the command that failed, or the displayed reason in words,
 * such as `timeout`, `agent` and `no changes`.
 */
export function reasonWords(reason: string, command?: string): string {
  if (command !== undefined && (reason === 'GATE_FAILED' || reason === 'SETUP_FAILED'))
    return safeLine(command, MAX_COMMAND_LENGTH);
  return reason
    .replace(/_FAILED$/, '')
    .replaceAll('_', ' ')
    .toLowerCase();
}

const MAX_COMMAND_LENGTH = 28;

/**
 * The displayed reason for the end of a story: the stop reason, or a more specific one if the cause is known. Journal,
 * JSON and exit codes use the stop reason.
 */
export function plainReason(stopReason: StopReason, failure: KnownFailure): string {
  const word = causeRow(failure?.cause)?.reason;
  if (word !== undefined) return word;
  if (stopReason !== 'ENGINE_ERROR') return stopReason;
  // A setup command or gate exceeded its output or disk limit.
  return isAgentFault(stopReason, failure) ? 'AGENT_FAILED' : 'LIMIT_REACHED';
}
