import type { AgentOutcome } from '../core/agent.ts';
import type { FailureCause } from '../core/failure/failure.ts';
import { safeLine } from '../core/text/safe-text.ts';
import type { AgentEnd } from './adapter.ts';
import { readSignalAnswer } from './signals.ts';
import { explainEnd } from './describe-exit.ts';
import { defined } from '../lib/guards.ts';

/** What a pattern in an agent's error message means to the person who has to act. */
export type ErrorMeaning = [pattern: RegExp, meaning: string, cause?: FailureCause];

/** The outcome of an agent whose own error message takes precedence over its exit code. */
export function readAgentOutcome(title: string, end: AgentEnd, meanings: readonly ErrorMeaning[] = []): AgentOutcome {
  if (end.error !== undefined && end.exitCode !== undefined) return explainError(title, end.error, meanings);
  if (end.exitCode === 0) return readSignalAnswer(end.answerText);
  return explainEnd(title, end);
}

/** Explains an agent's error message with the first meaning that matches. */
export function explainError(title: string, message: string, meanings: readonly ErrorMeaning[]): AgentOutcome {
  const said = safeLine(message, 500);
  const [, meaning, cause] = meanings.find(([pattern]) => pattern.test(said)) ?? [];
  const error = meaning === undefined ? `${title} failed: ${said}` : `${meaning} (${title}: ${said})`;
  return { kind: 'error', error, ...defined({ cause }) };
}
