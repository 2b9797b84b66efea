import type { AgentOutcome } from '../../core/agent.ts';
import { parseUntrustedJson } from '../../lib/parse-json.ts';
import type { AgentEnd } from '../adapter.ts';
import { readAnswer } from '../answer.ts';
import { explainEnd } from '../describe-exit.ts';
import { explainError, type ErrorMeaning } from '../outcome.ts';

/** Codex exits with 0 also if its model ignored the answer schema, so the answer is checked here. */
export function readCodexOutcome(end: AgentEnd): AgentOutcome {
  if (end.exitCode === 0) return readAnswer(end.answerText);
  if (end.error !== undefined && end.exitCode !== undefined)
    return explainError('Codex', unwrapBody(end.error), MEANINGS);
  return explainEnd('Codex', end);
}

/** What the messages of Codex mean to the person who has to act; the first match counts. */
const MEANINGS: readonly ErrorMeaning[] = [
  [/\b(401|403) (Unauthorized|Forbidden)/, 'The model provider refused the key'],
  [/usage limit/i, 'The usage limit of the model account is reached'],
  [/quota exceeded|insufficient_quota/i, 'The quota of the model account is used up'],
  [/context window|context_length/i, "The story did not fit into the model's context window", 'context-overflow'],
  [/\b404 Not Found/, 'The model provider does not know this model or address'],
  [/\b429\b/, 'The model provider limits the rate of requests, and waiting did not help'],
  [/high demand|\b5\d\d [A-Z]/, 'The model provider failed, and trying again did not help'],
  [/stream disconnected|idle timeout/i, "The model's answer broke off, and trying again did not help"],
  [/connection failed|error sending request/i, 'The model could not be reached'],
];

/** For a refused request, the message of Codex is the whole JSON body of the answer. */
function unwrapBody(message: string): string {
  const body = parseUntrustedJson(message) as { error?: { message?: unknown } } | null | undefined;
  const inner = body?.error?.message;
  return typeof inner === 'string' ? inner : message;
}
