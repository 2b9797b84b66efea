import { safeLine } from '../core/safe-text.ts';

/** As much of an error's body as is read for the provider's own words. */
export const ERROR_BYTES = 8192;

/** What an HTTP error of a provider means to the person who has to act, with the provider's own words where it has any. */
export function describeProviderError(error: { provider: string; status: number; body: string }): string {
  const { provider, status, body } = error;
  const words = readMessage(body);
  const sentence = `The model provider ${provider} ${meaningOf(status)} (HTTP status ${status})`;
  return words === undefined ? `${sentence}.` : `${sentence}: ${words}`;
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
