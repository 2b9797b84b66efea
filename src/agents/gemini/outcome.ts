import type { AgentOutcome } from '../../core/agent.ts';
import { safeLine } from '../../core/safe-text.ts';
import type { AgentEnd } from '../adapter.ts';
import { readAnswer } from '../answer.ts';
import { describeEnd } from '../ended.ts';

/** Its exit code after a refusal of the provider's is that status modulo 256, so what it says counts. */
export function readGeminiOutcome(end: AgentEnd): AgentOutcome {
  if (end.error !== undefined && end.exitCode !== undefined)
    return { kind: 'error', error: `Gemini CLI failed: ${safeLine(end.error, 500)}` };
  if (end.exitCode === 0) return readAnswer(end.answerText);
  return { kind: 'error', error: describeEnd('Gemini CLI', end.exitCode, end.stderrTail) };
}
