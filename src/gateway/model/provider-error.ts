import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { FailureCause } from '../../core/failure/failure.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { isRecord } from '../../lib/guards.ts';
import { parseRetryAfter } from '../../lib/network/send-request.ts';
import { parseUntrustedJson } from '../../lib/parse-json.ts';
import type { GatewayProblem } from '../request-log.ts';
import type { BudgetPort } from '../usage/budget-port.ts';

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

/** Statuses with which a provider requests a pause: too many requests, not available, overloaded. */
export const PAUSE_STATUSES = [429, 503, 529];
/** Longer pauses are shortened to this one. */
const MAX_PAUSE_MS = 30 * 86_400_000;

/** The parts of a provider's response that may request a pause. */
interface PauseSource {
  statusCode?: number | undefined;
  headers: IncomingHttpHeaders;
  /** The start of the body, if it was read. */
  body?: string | undefined;
}

/** Reads the pause that a provider requests, in ms; undefined when it requests none. */
export function readRetryAfter({ statusCode = 0, headers, body }: PauseSource, now = Date.now()): number | undefined {
  if (!PAUSE_STATUSES.includes(statusCode)) return undefined;
  const exact = Number(headers['retry-after-ms'] ?? Number.NaN);
  const asked = exact > 0 ? exact : (parseRetryAfter(headers['retry-after'], now) ?? Number.NaN);
  const ms = asked > 0 || statusCode !== 429 ? asked : readReset(headers, body, now);
  return ms > 0 ? Math.min(Math.ceil(ms), MAX_PAUSE_MS) : undefined;
}

/** Whether the body of a response may request a pause, because its status does and its headers do not. */
export function mayRequestPause({ statusCode, headers }: PauseSource): boolean {
  return statusCode === 429 && readRetryAfter({ statusCode, headers }) === undefined;
}

/** Headers with the time at which a limit is reset. With `remaining` in place of `reset`: what is left of it. */
const RESET =
  /^(anthropic-ratelimit-(unified|requests|(input-|output-)?tokens)-reset|(x-)?ratelimit-reset(-[a-z_-]+)?)$/;

/** The time until all used-up limits are reset, in ms; NaN if the response names none. */
function readReset(headers: IncomingHttpHeaders, body: string | undefined, now: number): number {
  const ms = readResetHeaders(headers, now);
  return ms > 0 ? ms : readBody(body, now);
}

function readResetHeaders(headers: Record<string, unknown>, now: number): number {
  const isUsedUp = (name: string) => ['0', undefined].includes(headers[name.replace('reset', 'remaining')] as string);
  const named = Object.entries(headers).filter(([name]) => RESET.test(name) && isUsedUp(name));
  return Math.max(0, ...named.map(([, value]) => msUntil(value, now)).filter((ms) => ms > 0));
}

/**
 * `error.resets_at`, `error.resets_in_seconds`, the headers that OpenRouter repeats in `error.metadata.headers`, or
 * `retryDelay` of one of `error.details`.
 */
function readBody(body: string | undefined, now: number): number {
  const { error } = toRecord(parseUntrustedJson(body ?? ''));
  const { resets_at: at, resets_in_seconds: seconds, details, metadata } = toRecord(error);
  if (typeof seconds === 'number') return seconds * 1000;
  if (typeof at === 'number' || typeof at === 'string') return msUntil(String(at), now);
  const repeated = Object.entries(toRecord(toRecord(metadata).headers));
  const delays = (Array.isArray(details) ? (details as unknown[]) : []).map((each) => {
    const delay = toRecord(each).retryDelay;
    return typeof delay === 'string' ? readDuration(delay) : Number.NaN;
  });
  const reset = readResetHeaders(Object.fromEntries(repeated.map(([name, value]) => [name.toLowerCase(), value])), now);
  return Math.max(reset, ...delays.filter((ms) => ms > 0));
}

function toRecord(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

/** A time (ISO 8601, or seconds or milliseconds since 1970), a number of seconds, or a duration such as `1h2m3s`, as ms from now. */
function msUntil(value: unknown, now: number): number {
  if (typeof value !== 'string') return Number.NaN;
  if (!/^\d+(\.\d+)?$/.test(value)) return /^\d{4}-/.test(value) ? Date.parse(value) - now : readDuration(value);
  const amount = Number(value);
  if (amount > 1e12) return amount - now;
  return amount > 1e9 ? amount * 1000 - now : amount * 1000;
}

const UNITS = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

function readDuration(value: string): number {
  if (!/^(\d+(\.\d+)?(h|ms|m|s))+$/.test(value)) return Number.NaN;
  return [...value.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * UNITS[unit as keyof typeof UNITS],
    0,
  );
}

/** The response of a provider. */
export interface ProviderResponse extends Pick<IncomingMessage, 'statusCode' | 'headers'> {
  stream: Readable;
  /** Its body, if it was read before it is streamed. */
  body?: string;
}

/** The status of a key that the provider does not know. */
const INVALID_KEY = 401;
/** Statuses that may be about the key or the request: not paid, not permitted, and 429 without a wait: a used-up quota. */
const DOUBTFUL = [402, 403, 429];
/** How long other requests do not use a key that was refused, and one that had an error without a wait. */
const REFUSED_MS = 10 * 60_000;
const LIMITED_MS = 60_000;

/**
 * The keys that a provider refuses for one request. A key is only blocked for other requests if its status leaves no
 * doubt, or if another key gets an answer: a sandbox decides what its requests contain.
 */
export class KeyRefusals {
  /** Positions of the keys that this request does not use again. */
  readonly avoid: number[] = [];
  /** The last response that may be about the request. */
  last: ProviderResponse | undefined;
  readonly #budget: BudgetPort;
  readonly #model: string;
  readonly #keys: number;
  readonly #limited = new Set<number>();
  #count = 0;

  /** `keys`: how many there are. */
  constructor(budget: BudgetPort, { model, keys }: { model: string; keys: number }) {
    this.#budget = budget;
    this.#model = model;
    this.#keys = keys;
  }

  /** Adds a response without a wait. Returns whether the request may be sent with another key. */
  async add(response: ProviderResponse, key: number): Promise<boolean> {
    const { statusCode = 0 } = response;
    const isInvalid = statusCode === INVALID_KEY;
    if (!isInvalid && !DOUBTFUL.includes(statusCode)) {
      if (statusCode < 400) await this.#block();
      return false;
    }
    this.#count += 1;
    if (this.#count >= this.#keys) return false;
    if (isInvalid) await this.#refuse(key);
    else {
      this.avoid.push(key);
      if (statusCode === 429) this.#limited.add(key);
      this.last = response;
    }
    return true;
  }

  /** Another key has got an answer to the same request. */
  async #block(): Promise<void> {
    const model = this.#model;
    for (const key of this.avoid) {
      if (this.#limited.has(key)) await this.#budget.pauseKey({ model, key, ms: LIMITED_MS, why: 'provider' });
      else await this.#refuse(key);
    }
  }

  #refuse(key: number): Promise<void> {
    return this.#budget.pauseKey({ model: this.#model, key, ms: REFUSED_MS, why: 'refused' });
  }
}
