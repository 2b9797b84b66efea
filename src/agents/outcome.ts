import type { AgentOutcome } from '../core/agent.ts';
import type { FailureCause } from '../core/failure/failure.ts';
import { safeLine } from '../core/text/safe-text.ts';
import { defined } from '../lib/guards.ts';
import type { AgentEnd } from './adapter.ts';
import { readSignalAnswer } from './answer.ts';

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

const SIGNALS: Record<number, string> = {
  129: 'SIGHUP',
  130: 'SIGINT',
  134: 'SIGABRT',
  137: 'SIGKILL',
  139: 'SIGSEGV',
  143: 'SIGTERM',
};

/** What halo's own script and shell say of a program that they cannot start; what a program says has another beginning. */
const NOT_STARTED = /^(?:\/bin\/)?sh: | is not in this sandbox \(/;

/** How a program ended without an error or an answer of its own. One that could not be started is not tried again. */
export function explainEnd(title: string, { exitCode, stderrTail }: AgentEnd): AgentOutcome & { kind: 'error' } {
  const error = describeEnd(title, exitCode, stderrTail);
  const started = (exitCode !== 126 && exitCode !== 127) || !NOT_STARTED.test(reasonIn(stderrTail) ?? '');
  return { kind: 'error', error, ...(!started && { cause: 'program-missing' }) };
}

/** One sentence, which quotes the line of stderr that says why. */
function describeEnd(title: string, exitCode: number | undefined, stderrTail: string): string {
  if (exitCode === undefined) return `${title} was stopped before it ended by itself.`;
  const signal = SIGNALS[exitCode];
  const how = signal === undefined ? `ended with exit code ${exitCode}` : `was killed by ${signal}`;
  const said = reasonIn(stderrTail);
  return said === undefined ? `${title} ${how} and gave no reason.` : `${title} ${how}: ${said}`;
}

/** What follows the message of an exception: frames, members of the error, the version of Node. */
const AFTER_MESSAGE = /^(?:\s+|[}\])^]|Node\.js v\d|at )/;
const MESSAGE = /^\s*(?:Uncaught )?(?:[\w.$]*(?:Error|Exception)|error|fatal|panic)\b[^:]*:/i;

/** The last line or, where that is the end of a stack trace, the message above it. */
function reasonIn(text: string): string | undefined {
  const lines = text.split('\n').filter((each) => each.trim() !== '');
  const last = lines.at(-1);
  if (last === undefined) return undefined;
  const message = AFTER_MESSAGE.test(last) ? lines.findLast((each) => MESSAGE.test(each)) : undefined;
  return safeLine(message ?? last, 500);
}
