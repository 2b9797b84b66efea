import type { IncomingMessage } from 'node:http';

/** Answers by which a provider asks for a pause: too many requests, not available, overloaded. */
const PAUSES = [429, 503, 529];
/** A provider may ask for less, not for more. */
const LONGEST_MS = 60 * 60_000;

/** How long a provider wants to be left alone, in ms; undefined when it does not say so. */
export function readPause({
  statusCode = 0,
  headers,
}: Pick<IncomingMessage, 'statusCode' | 'headers'>): number | undefined {
  if (!PAUSES.includes(statusCode)) return undefined;
  const exact = Number(headers['retry-after-ms'] ?? Number.NaN);
  const after = headers['retry-after'] ?? '';
  const seconds = /^\d+(\.\d+)?$/.test(after) ? Number(after) * 1000 : Date.parse(after) - Date.now();
  const ms = exact > 0 ? exact : seconds;
  return ms > 0 ? Math.min(Math.ceil(ms), LONGEST_MS) : undefined;
}
