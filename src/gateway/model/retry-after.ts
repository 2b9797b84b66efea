import type { IncomingMessage } from 'node:http';

/** Statuses with which a provider requests a pause: too many requests, not available, overloaded. */
const RETRY_STATUSES = [429, 503, 529];
/** Longer pauses are shortened to this one. */
const MAX_PAUSE_MS = 60 * 60_000;

/** Reads the pause that a provider requests, in ms; undefined when it requests none. */
export function readRetryAfter({
  statusCode = 0,
  headers,
}: Pick<IncomingMessage, 'statusCode' | 'headers'>): number | undefined {
  if (!RETRY_STATUSES.includes(statusCode)) return undefined;
  const exact = Number(headers['retry-after-ms'] ?? Number.NaN);
  const after = headers['retry-after'] ?? '';
  const seconds = /^\d+(\.\d+)?$/.test(after) ? Number(after) * 1000 : Date.parse(after) - Date.now();
  const ms = exact > 0 ? exact : seconds;
  return ms > 0 ? Math.min(Math.ceil(ms), MAX_PAUSE_MS) : undefined;
}
