import type { IncomingMessage } from 'node:http';
import type { FailureCause } from '../../core/failure/failure.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { GatewayProblem } from '../request-log.ts';

/** How much of an error response is read to find the provider's message. */
export const ERROR_BYTES = 8192;

/** How much of an error response is kept if it is read before it is passed on. */
const MAX_ERROR_BYTES = 64 * 1024;
/** How long halo waits for the rest of an error response. */
const ERROR_BODY_MS = 5_000;

/** The body of an error response, cut after MAX_ERROR_BYTES or ERROR_BODY_MS. Never throws. */
export async function readErrorBody(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  const timer = setTimeout(() => response.destroy(), ERROR_BODY_MS);
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= MAX_ERROR_BYTES) break;
    }
  } catch {
    // What has arrived is passed on.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks).subarray(0, MAX_ERROR_BYTES);
}

/** Describes an HTTP error of a provider for users, with the provider's own message if it has one. */
export function readProviderError(error: { provider: string; status: number; body: string }): GatewayProblem {
  const { provider, status, body } = error;
  const words = readMessage(body);
  const sentence = `The model provider ${provider} ${meaningOf(status)} (HTTP status ${status})`;
  const overflow = status === 400 && words !== undefined && TOO_LONG.test(words);
  return {
    sentence: words === undefined ? `${sentence}.` : `${sentence}: ${words}`,
    ...(overflow ? { cause: 'context-overflow' as const } : failureCauseOf(status)),
  };
}

/** Messages of providers about a request that exceeds the model's context window. */
const TOO_LONG = /context (window|length)|context_length|prompt is too long|too many tokens|token count .*exceeds/i;

/** The failure cause of an HTTP status, when the provider or the account causes it. */
export function failureCauseOf(status: number): { cause?: FailureCause } {
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

/** Reads the message in the formats of OpenAI and others: `{error: {message}}`, `{error}` or `{message}`. */
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
