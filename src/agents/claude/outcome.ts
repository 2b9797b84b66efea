import type { AgentOutcome } from '../../core/agent.ts';
import type { FailureCause } from '../../core/failure/failure.ts';
import { safeLine } from '../../core/safe-text.ts';
import type { AgentEnd } from '../adapter.ts';
import { readAnswer } from '../answer.ts';
import { describeEnd } from '../ended.ts';

/** Claude Code exits 0 also when it was interrupted or its model gave prose, so both the error and the answer are checked. */
export function readClaudeOutcome(end: AgentEnd): AgentOutcome {
  if (end.error !== undefined && end.exitCode !== undefined) return explain(end.error);
  if (end.exitCode === 0) return readAnswer(end.answerText);
  return { kind: 'error', error: describeEnd('Claude Code', end.exitCode, end.stderrTail) };
}

/** What the messages of Claude Code mean to the person who has to act; the first that fits counts. */
const MEANINGS: [pattern: RegExp, meaning: string, cause?: FailureCause][] = [
  [/not logged in|failed to authenticate|\b(401|403)\b/i, 'The model provider refused the key'],
  [/credit balance|billing/i, 'The model provider wants to be paid first'],
  [/usage limit|quota/i, 'The usage limit of the model account is reached'],
  [/prompt is too long|context window/i, "The story did not fit into the model's context window", 'context-overflow'],
  [/\b404\b|model_not_found|issue with the selected model/i, 'The model provider does not know this model or address'],
  [/\b429\b|rate.limit/i, 'The model provider limits the rate of requests, and waiting did not help'],
  [/API Error: 5\d\d|overloaded/i, 'The model provider failed, and trying again did not help'],
  [/connection (dropped|closed|reset)|ECONNRESET/i, "The model's answer broke off, and trying again did not help"],
  [/connection (refused|error)|ECONNREFUSED|unable to connect/i, 'The model could not be reached'],
  [/aborted_/, 'Claude Code was interrupted'],
];

function explain(message: string): AgentOutcome {
  const said = safeLine(message, 500);
  const [, meaning, cause] = MEANINGS.find(([pattern]) => pattern.test(said)) ?? [];
  const error = meaning === undefined ? `Claude Code failed: ${said}` : `${meaning} (Claude Code: ${said})`;
  return { kind: 'error', error, ...(cause === undefined ? {} : { cause }) };
}
