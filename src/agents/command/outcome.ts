import type { AgentOutcome } from '../../core/agent.ts';
import type { AgentEnd } from '../adapter.ts';
import { readAnswer } from '../answer.ts';
import { describeEnd } from '../ended.ts';

/** A command must exit 0 and give an answer. */
export function readCommandOutcome(end: AgentEnd): AgentOutcome {
  if (end.exitCode !== 0)
    return { kind: 'error', error: describeEnd('The agent command', end.exitCode, end.stderrTail) };
  if (end.answerText === undefined)
    return {
      kind: 'invalid',
      error:
        'The agent command gave no answer, such as {"status":"ok","summary":"…"} as a line or in the file $HALO_RESULT.',
    };
  return readAnswer(end.answerText);
}
