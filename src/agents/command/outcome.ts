import type { AgentOutcome } from '../../core/agent.ts';
import type { AgentEnd } from '../adapter.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { readAnswer } from '../answer.ts';
import { explainEnd } from '../describe-exit.ts';
import { OTHER_STORY } from './signals.ts';

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
  const other = OTHER_STORY.exec(end.answerText)?.[1];
  if (other !== undefined)
    return { kind: 'invalid', error: `The agent reported another story, "${safeLine(other, 120)}", as its own.` };
  return readAnswer(end.answerText);
}
