import type { IncomingHttpHeaders } from 'node:http';
import { parseUntrustedJson } from '../../lib/parse-json.ts';

/** Statuses with which a provider requests a pause: too many requests, not available, overloaded. */
const RETRY_STATUSES = [429, 503, 529];
/** Longer pauses are shortened to this one. */
const MAX_PAUSE_MS = 30 * 86_400_000;

/** The parts of a provider's response that may request a pause. */
export interface PauseSource {
  statusCode?: number | undefined;
  headers: IncomingHttpHeaders;
  /** The start of the body, if it was read. */
  body?: string | undefined;
}

/** Reads the pause that a provider requests, in ms; undefined when it requests none. */
export function readRetryAfter({ statusCode = 0, headers, body }: PauseSource, now = Date.now()): number | undefined {
  if (!RETRY_STATUSES.includes(statusCode)) return undefined;
  const exact = Number(headers['retry-after-ms'] ?? Number.NaN);
  const after = headers['retry-after'] ?? '';
  const seconds = /^\d+(\.\d+)?$/.test(after) ? Number(after) * 1000 : Date.parse(after) - now;
  const asked = exact > 0 ? exact : seconds;
  const ms = asked > 0 || statusCode !== 429 ? asked : readReset(headers, body, now);
  return ms > 0 ? Math.min(Math.ceil(ms), MAX_PAUSE_MS) : undefined;
}

/** Whether the body of a response may request a pause, because its status does and its headers do not. */
export function mayRequestPause({ statusCode, headers }: PauseSource): boolean {
  return statusCode === 429 && readRetryAfter({ statusCode, headers }) === undefined;
}

/** Limits with the time at which they are reset, and the header that says what remains of them. */
const RESETS = [
  ['anthropic-ratelimit-unified-reset', 'anthropic-ratelimit-unified-remaining'],
  ['anthropic-ratelimit-requests-reset', 'anthropic-ratelimit-requests-remaining'],
  ['anthropic-ratelimit-tokens-reset', 'anthropic-ratelimit-tokens-remaining'],
  ['x-ratelimit-reset-requests', 'x-ratelimit-remaining-requests'],
  ['x-ratelimit-reset-tokens', 'x-ratelimit-remaining-tokens'],
  ['x-ratelimit-reset', 'x-ratelimit-remaining'],
] as const;

/** The time until all used-up limits are reset, in ms; NaN if the response names none. */
function readReset(headers: IncomingHttpHeaders, body: string | undefined, now: number): number {
  const named = RESETS.filter(([, remaining]) => ['0', undefined].includes(headers[remaining] as string | undefined));
  const waits = named.map(([reset]) => msUntil(headers[reset], now)).filter((ms) => ms > 0);
  return waits.length > 0 ? Math.max(...waits) : readBody(body, now);
}

/** `error.resets_at`, `error.resets_in_seconds`, or `retryDelay` of one of `error.details`. */
function readBody(body: string | undefined, now: number): number {
  const { error } = (parseUntrustedJson(body ?? '') ?? {}) as { error?: unknown };
  const { resets_at: at, resets_in_seconds: seconds, details } = (error ?? {}) as Record<string, unknown>;
  if (typeof seconds === 'number') return seconds * 1000;
  if (typeof at === 'number' || typeof at === 'string') return msUntil(String(at), now);
  const delays = (Array.isArray(details) ? (details as unknown[]) : []).map((each) => {
    const delay = ((each ?? {}) as { retryDelay?: unknown }).retryDelay;
    return typeof delay === 'string' ? readDuration(delay) : Number.NaN;
  });
  return Math.max(0, ...delays.filter((ms) => ms > 0));
}

/** A time (ISO 8601, or seconds or milliseconds since 1970), a number of seconds, or a duration such as `1h2m3s`, as ms from now. */
function msUntil(value: string | string[] | undefined, now: number): number {
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
