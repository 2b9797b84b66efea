import type { AgentOutcome } from '../../core/agent.ts';
import type { AgentEnd } from '../adapter.ts';
import { explainEnd } from '../describe-exit.ts';
import { readSignalAnswer } from '../signals.ts';

const PLACES = 'A program must be an executable file in the commit of the run, named by its path, or in the image.';

/** A command must exit 0 and give an answer. */
export function readCommandOutcome(end: AgentEnd): AgentOutcome {
  if (end.exitCode !== 0) {
    const ended = explainEnd('The agent command', end);
    return ended.cause === undefined ? ended : { ...ended, error: `${ended.error}. ${PLACES}` };
  }
  if (end.answerText === undefined)
    return {
      kind: 'invalid',
      error:
        'The agent command gave no answer, such as {"status":"ok","summary":"…"} as a line or in the file $HALO_RESULT.',
    };
  return readSignalAnswer(end.answerText);
}
