import type { FailureCause } from '../../core/failure/failure.ts';
import { safeLine } from '../../core/safe-text.ts';
import type { Problem } from '../ledger.ts';

/** As much of an error's body as is read for the provider's own words. */
export const ERROR_BYTES = 8192;

/** What an HTTP error of a provider means to the person who has to act, with the provider's own words where it has any. */
export function readProviderError(error: { provider: string; status: number; body: string }): Problem {
  const { provider, status, body } = error;
  const words = readMessage(body);
  const sentence = `The model provider ${provider} ${meaningOf(status)} (HTTP status ${status})`;
  const overflow = status === 400 && words !== undefined && TOO_LONG.test(words);
  return {
    sentence: words === undefined ? `${sentence}.` : `${sentence}: ${words}`,
    ...(overflow ? { cause: 'context-overflow' as const } : causeOf(status)),
  };
}

/** How providers say that a request does not fit into the model's context window. */
const TOO_LONG = /context (window|length)|context_length|prompt is too long|too many tokens|token count .*exceeds/i;

/** Whose fault a status is, where it is the provider's or that of the account. */
export function causeOf(status: number): { cause?: FailureCause } {
  if (status === 401 || status === 403) return { cause: 'key-refused' };
  if (status === 402) return { cause: 'not-paid' };
  if (status === 404) return { cause: 'unknown-model' };
  if (status === 408 || status === 429) return { cause: 'rate-limited' };
  return status >= 500 ? { cause: 'provider-failed' } : {};
}

function meaningOf(status: number): string {
  if (status === 402) return 'wants to be paid first';
  if (status === 404) return 'does not know this model or address';
  if (status === 429) return 'limits requests, or the quota of the account is used up';
  return status >= 500 ? 'failed' : 'refused the request';
}

/** OpenAI's shape and what others make of it: `{error: {message}}`, `{error}` or `{message}`. */
function readMessage(body: string): string | undefined {
  try {
    const { error, message } = JSON.parse(body) as { error?: unknown; message?: unknown };
    const inner = typeof error === 'object' && error !== null ? (error as { message?: unknown }).message : error;
    const said = inner ?? message;
    return typeof said === 'string' && said.trim() !== '' ? safeLine(said, 300) : undefined;
  } catch {
    return undefined;
  }
}
