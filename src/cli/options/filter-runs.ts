import { type Command, InvalidArgumentError } from 'commander';
import type { ListedRun, ListQuery } from '../../api/runs/limited-runs.ts';
import type { Cli } from '../cli.ts';
import { RUN_ID } from '../../lib/run-id.ts';
import { STOP_REASONS } from '../../core/failure/stop-reason.ts';
import { SINCE } from './log-options.ts';
import { repoSource } from './run-options.ts';
import { factsOf, matches, type RunCondition } from '../../core/listing/run-facts.ts';
import { stateText } from '../../core/listing/state-text.ts';
import { defined } from '../../lib/guards.ts';

/** Options that select runs. */
export interface RunFilter {
  state?: string;
  repo?: string;
  user?: string;
  mine?: true;
  limit?: number;
  since?: string;
  before?: string;
}

export function addRunFilters(command: Command): Command {
  return command
    .option(
      '--status, --state <state>',
      'only runs in this state, e.g. running, queued, ended, failed, SUCCESS',
      parseState,
    )
    .option('--repo <path>', 'only runs of this repository: its path, URL or folder name')
    .option('--user <name>', 'only runs of this user')
    .option('--mine', 'only your own runs')
    .option('--since <time>', `only runs submitted after ${SINCE}`)
    .option('--before <runId>', 'only runs older than this one: the next page', parseRunId)
    .option('--limit <n>', 'only the newest n runs', parseLimit);
}

/** Whether only runs that have not ended can be in this state. */
export function isOpenState(state: string): boolean {
  return ['queued', 'running', 'waiting', 'pausing', 'paused', 'blocked'].includes(state.toLowerCase());
}

/** The query for the runs that match, but for the state of a run that has not ended, which `filterRuns` decides. */
export async function toQuery(filter: RunFilter, cli: Cli): Promise<ListQuery> {
  const { since, before, state } = filter;
  const isOpen = state !== undefined && isOpenState(state);
  return { ...defined({ since, before }), ...(await toCondition(filter, cli)), ...(isOpen && { ended: 0 }) };
}

async function toCondition({ state, repo, user, mine }: RunFilter, cli: Cli): Promise<RunCondition> {
  const isName = repo !== undefined && !repo.includes('/') && !repo.startsWith('.');
  return defined({
    user: mine === undefined ? user : await cli.services.userName(),
    repo: repo === undefined || isName ? repo : repoSource(cli.cwd, repo),
    state: state === undefined || isOpenState(state) ? undefined : state,
  });
}

/** The runs that match, in their order. */
export async function filterRuns(runs: readonly ListedRun[], filter: RunFilter, cli: Cli): Promise<ListedRun[]> {
  const { state, limit } = filter;
  const condition = await toCondition(filter, cli);
  const isInState = (run: ListedRun) => state === undefined || condition.state !== undefined || isOpenIn(run, state);
  const chosen = runs.filter((run) => matches(factsOf(run), condition) && isInState(run));
  return limit === undefined ? chosen : chosen.slice(0, limit);
}

/** Status words, the words that a list adds to them, and results of ended runs. */
const STATES = [
  ...['queued', 'running', 'waiting', 'pausing', 'paused', 'blocked', 'ended', 'failed'],
  ...['landed', 'approved', 'rejected', 'waiting for approval'],
  ...Object.keys(STOP_REASONS),
];

/** Parses a state of `halo ls`. Throws the message that commander shows. */
export function parseState(text: string): string {
  if (STATES.some((state) => state.toLowerCase() === text.toLowerCase())) return text;
  const words = STATES.filter((state) => state === state.toLowerCase());
  throw new InvalidArgumentError(`It must be a stop reason or one of: ${words.join(', ')}.`);
}

/** Matches the status or any word that the list shows. */
function isOpenIn(run: ListedRun, state: string): boolean {
  const words = [run.status, ...stateText(run).split(/[,:] /)];
  return words.some((word) => word.toLowerCase() === state.toLowerCase());
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
