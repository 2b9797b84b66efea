import { InvalidArgumentError } from 'commander';
import { HaloError } from '../core/failure/errors.ts';
import { parseDuration } from '../lib/duration.ts';

const DATE = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;

/** The moment, ISO 8601, that `--since` names: a date, in local time unless it has a zone, or a time before `now`. */
export function parseSince(text: string, now: Date): string {
  const ago = parseDuration(text);
  const moment = ago === undefined ? new Date(DATE.test(text) ? text : NaN) : new Date(now.getTime() - ago);
  if (!Number.isNaN(moment.getTime())) return moment.toISOString();
  throw new HaloError('USAGE', `--since ${JSON.stringify(text.slice(0, 64))} is neither a date nor a time ago.`, {
    hint: 'Write a date such as 2030-01-31T03:00:00Z, or a time ago such as 10m or 2h30m.',
  });
}

/** A number of lines, for an option. Throws the message that commander shows. */
export function parseLineCount(text: string): number {
  if (/^[0-9]{1,7}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is a number of lines from 0 to 9999999.');
}
