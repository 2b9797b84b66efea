import type { AgentOutcome } from '../../core/agent.ts';
import { safeLine } from '../../core/safe-text.ts';
import type { AgentEnd } from '../adapter.ts';
import { readAnswer } from '../answer.ts';
import { describeEnd } from '../ended.ts';

/** What opencode says last about an error counts, whatever its exit code. */
export function readOpencodeOutcome(end: AgentEnd): AgentOutcome {
  if (end.error !== undefined && end.exitCode !== undefined)
    return { kind: 'error', error: `opencode failed: ${safeLine(end.error, 500)}` };
  if (end.exitCode === 0) return readAnswer(end.answerText);
  return { kind: 'error', error: describeEnd('opencode', end.exitCode, end.stderrTail) };
}
