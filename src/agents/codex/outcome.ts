import type { AgentOutcome } from '../../core/agent.ts';
import type { FailureCause } from '../../core/failure/failure.ts';
import { safeLine } from '../../core/safe-text.ts';
import { parseForeignJson } from '../../lib/parse-json.ts';
import type { AgentEnd } from '../adapter.ts';
import { readAnswer } from '../answer.ts';
import { describeEnd } from '../ended.ts';

/** Codex exits 0 also when its model ignored the answer schema, so the answer is checked here. */
export function readCodexOutcome(end: AgentEnd): AgentOutcome {
  if (end.exitCode === 0) return readAnswer(end.answerText);
  if (end.error !== undefined && end.exitCode !== undefined) return explain(end.error);
  return { kind: 'error', error: describeEnd('Codex', end.exitCode, end.stderrTail) };
}

/** What the messages of Codex mean to the person who has to act; the first that fits counts. */
const MEANINGS: [pattern: RegExp, meaning: string, cause?: FailureCause][] = [
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

function explain(message: string): AgentOutcome {
  const said = safeLine(unwrapBody(message), 500);
  const [, meaning, cause] = MEANINGS.find(([pattern]) => pattern.test(said)) ?? [];
  const error = meaning === undefined ? `Codex failed: ${said}` : `${meaning} (Codex: ${said})`;
  return { kind: 'error', error, ...(cause === undefined ? {} : { cause }) };
}

/** For a refused request Codex gives the whole JSON body as its message. */
function unwrapBody(message: string): string {
  const body = parseForeignJson(message) as { error?: { message?: unknown } } | null | undefined;
  const inner = body?.error?.message;
  return typeof inner === 'string' ? inner : message;
}
