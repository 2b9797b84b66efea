import { InvalidArgumentError, type Command } from 'commander';
import type { UnreadableRun } from '../../api/runs/read-report-of.ts';
import type { ListedRun, ListQuery } from '../../api/runs/limited-runs.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { STOP_REASONS } from '../../core/failure/stop-reason.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { defined } from '../../lib/guards.ts';
import { RUN_ID } from '../../lib/run-id.ts';
import { parseDuration } from '../../lib/units.ts';
import type { Cli } from '../cli.ts';
import { repoSource } from './run-options.ts';
import {
  AWAITS_PERSON,
  ENDED_WORDS,
  factsOf,
  matches,
  OPEN_WORDS,
  type RunCondition,
} from '../../core/listing/run-facts.ts';
import { closeSentence } from '../../core/text/did-you-mean.ts';

/** Options that select runs. */
export interface RunFilter {
  state?: string;
  repo?: string;
  user?: string;
  mine?: true;
  limit?: number;
  since?: string;
  until?: string;
  before?: string;
  find?: string;
}

export function addRunFilters(command: Command): Command {
  return command
    .option(
      '--status, --state <state>',
      'only runs in this state: running, queued, ended, landed, done, cancelled, or a stop reason such as SUCCESS; failed is every end except success, cancellation, rejection and NEEDS_HUMAN',
      parseState,
    )
    .option('--repo <path>', 'only runs of this repository: its path, URL or folder name')
    .option('--user <name>', 'only runs of this user')
    .option('--mine', 'only your own runs')
    .option(
      '--find <words>',
      'only runs in which each of these words is part of id, project, user, repository or state, or of id or title of a story',
    )
    .option('--since <time>', `only runs submitted after ${SINCE}`)
    .option('--until <time>', 'only runs submitted before this time, given in the same way')
    .option('--before <runId>', 'only runs older than this one: the next page', parseRunId)
    .option('--limit <n>', 'only the newest n runs', parseLimit);
}

/** The query for the runs that match. Throws USAGE for a time that it cannot read. */
export async function toQuery(filter: RunFilter, cli: Cli): Promise<ListQuery> {
  const { since, until, before } = filter;
  const [from, to] = [parseTime('--since', since), parseTime('--until', until)];
  return { ...defined({ since: from, until: to, before }), ...(await toCondition(filter, cli)) };
}

function parseTime(option: string, time: string | undefined): string | undefined {
  return time === undefined ? undefined : parseSince(time, new Date(), option);
}

async function toCondition({ state, repo, user, mine, find }: RunFilter, cli: Cli): Promise<RunCondition> {
  const isName = repo !== undefined && !repo.includes('/') && !repo.startsWith('.');
  return defined({
    user: mine === undefined ? user : await cli.services.userName(),
    repo: repo === undefined || isName ? repo : repoSource(cli.cwd, repo),
    ...{ state, find },
  });
}

/** The runs that match, in their order. */
export async function filterRuns(runs: readonly ListedRun[], filter: RunFilter, cli: Cli): Promise<ListedRun[]> {
  const condition = await toCondition(filter, cli);
  return runs.filter((run) => matches(factsOf(run), condition));
}

/** Status words, the words that a list adds to them, and results of ended runs. */
const STATES = [
  ...[...OPEN_WORDS, 'ended'],
  ...['landed', 'approved', 'waiting for approval', AWAITS_PERSON, ...ENDED_WORDS],
  ...Object.keys(STOP_REASONS),
];

/** Parses a state of `halo ls`. Throws the message that commander shows. */
export function parseState(text: string): string {
  if (STATES.some((state) => state.toLowerCase() === text.toLowerCase())) return text;
  const words = STATES.filter((state) => state === state.toLowerCase());
  throw new InvalidArgumentError(
    `It must be a stop reason or one of: ${words.join(', ')}${closeSentence(text, STATES)}`,
  );
}

function parseRunId(text: string): string {
  if (RUN_ID.test(text)) return text;
  throw new InvalidArgumentError('It must be a whole run id.');
}

/** Parses a number of rows. Throws the message that commander shows. */
export function parseLimit(text: string): number {
  if (/^[1-9][0-9]{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number of at least 1.');
}

const DATE = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;

/** What `--since` takes, for help texts. */
export const SINCE =
  'a date (2030-01-31, 2030-01-31T03:00:00Z), a local time of day (03:12) or a duration ago (10m, 7d)';

/**
 * Parses `--since`, or an option like it, to ISO 8601: a date or a time of day (its last occurrence), in local time unless it
 * has a zone, or a duration before `now`.
 */
export function parseSince(text: string, now: Date, option = '--since'): string {
  const ago = parseDuration(text);
  const moment = ago === undefined ? (lastTime(text, now) ?? parseDate(text)) : new Date(now.getTime() - ago);
  if (!Number.isNaN(moment.getTime())) return moment.toISOString();
  throw new HaloError('USAGE', `${option} ${JSON.stringify(text.slice(0, 64))} is neither a date nor a time ago.`, {
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

/** Names the runs that a report lacks on stderr. */
export async function noteUnreadable(runs: readonly UnreadableRun[], cli: Cli): Promise<void> {
  await cli.note(...runs.map(({ runId, reason }) => `${runId} is missing here: ${safeLine(reason)}`));
}
