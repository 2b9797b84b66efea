import type { AgentOutcome } from '../../core/agent.ts';
import type { AgentEnd } from '../adapter.ts';
import { readAgentOutcome, type ErrorMeaning } from '../outcome.ts';

/** Claude Code exits with 0 also if it was interrupted or its model gave prose, so error and answer are both checked. */
export function readClaudeOutcome(end: AgentEnd): AgentOutcome {
  return readAgentOutcome('Claude Code', end, MEANINGS);
}

/** What the messages of Claude Code mean to the person who has to act; the first match counts. */
const MEANINGS: readonly ErrorMeaning[] = [
  [/not logged in|failed to authenticate|\b(401|403)\b/i, 'The model provider refused the key'],
  [/credit balance|billing/i, 'The model provider requires payment'],
  [/usage limit|quota/i, 'The usage limit of the model account is reached'],
  [/prompt is too long|context window/i, "The story did not fit into the model's context window", 'context-overflow'],
  [/\b404\b|model_not_found|issue with the selected model/i, 'The model provider does not know this model or address'],
  [/\b429\b|rate.limit/i, 'The model provider limits the rate of requests, and waiting did not help'],
  [/API Error: 5\d\d|overloaded/i, 'The model provider failed, and trying again did not help'],
  [/connection (dropped|closed|reset)|ECONNRESET/i, "The model's answer broke off, and trying again did not help"],
  [/connection (refused|error)|ECONNREFUSED|unable to connect/i, 'The model could not be reached'],
  [/aborted_/, 'Claude Code was interrupted'],
];
