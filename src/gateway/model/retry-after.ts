import type { IncomingHttpHeaders } from 'node:http';
import { isRecord } from '../../lib/guards.ts';
import { parseRetryAfter } from '../../lib/network/retry-after.ts';
import { parseUntrustedJson } from '../../lib/parse-json.ts';

/** Statuses with which a provider requests a pause: too many requests, not available, overloaded. */
export const PAUSE_STATUSES = [429, 503, 529];
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
