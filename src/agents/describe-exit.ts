import type { AgentOutcome } from '../core/agent.ts';
import { safeLine } from '../core/text/safe-text.ts';
import type { AgentEnd } from './adapter.ts';

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
