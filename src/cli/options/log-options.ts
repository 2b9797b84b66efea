import { InvalidArgumentError } from 'commander';
import { HaloError } from '../../core/failure/errors.ts';
import { parseDuration } from '../../lib/units.ts';

const DATE = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;

/** What `--since` takes, for help texts. */
export const SINCE =
  'a date (2030-01-31, 2030-01-31T03:00:00Z), a local time of day (03:12) or a duration ago (10m, 7d)';

/**
 * Parses `--since` to ISO 8601: a date or a time of day (its last occurrence), in local time unless it has a zone, or a
 * duration before `now`.
 */
export function parseSince(text: string, now: Date): string {
  const ago = parseDuration(text);
  const moment = ago === undefined ? (lastTime(text, now) ?? parseDate(text)) : new Date(now.getTime() - ago);
  if (!Number.isNaN(moment.getTime())) return moment.toISOString();
  throw new HaloError('USAGE', `--since ${JSON.stringify(text.slice(0, 64))} is neither a date nor a time ago.`, {
    hint: 'Use a date such as 2030-01-31T03:00:00Z, a time of day such as 03:12, or a time ago such as 10m or 2h30m.',
  });
}

function parseDate(text: string): Date {
  // Without a time of day, JavaScript reads a date as UTC.
  return new Date(!DATE.test(text) ? NaN : text.length === 10 ? `${text}T00:00` : text);
}

/** A day without a time of day, and a change of clocks. */
const MAX_MINUTES = (2 * 24 + 2) * 60;

function lastTime(text: string, now: Date): Date | undefined {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (hours === undefined) return undefined;
  // Where clocks are changed, a time of day comes twice or not at all on one day of the year: looked for from `now` back.
  const moment = new Date(now.getTime() - (now.getTime() % 60_000));
  for (let left = MAX_MINUTES; left > 0; left -= 1) {
    if (moment.getHours() === Number(hours) && moment.getMinutes() === Number(minutes)) return moment;
    moment.setTime(moment.getTime() - 60_000);
  }
  return undefined;
}

/** Parses a number of lines. Throws the message that commander shows. */
export function parseLineCount(text: string): number {
  if (/^[0-9]{1,7}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number of lines from 0 to 9999999.');
}
