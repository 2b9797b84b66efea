import { type Command, InvalidArgumentError } from 'commander';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import type { Cli } from '../cli.ts';
import { RUN_ID } from '../../lib/run-id.ts';
import { STOP_REASONS } from '../../core/failure/stop-reason.ts';
import { SINCE } from './log-options.ts';
import { repoSource } from './run-options.ts';
import { stateText } from '../../tui/run-text.ts';

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

/** The runs that match all filters, in their order. */
export async function filterRuns(runs: readonly ListedRun[], filter: RunFilter, cli: Cli): Promise<ListedRun[]> {
  const { state, repo, limit } = filter;
  const user = filter.mine === undefined ? filter.user : await cli.services.userName();
  const chosen = runs.filter(
    (run) =>
      (state === undefined || isInState(run, state)) &&
      (repo === undefined || isOf(run, repo, cli.cwd)) &&
      (user === undefined || run.user === user),
  );
  return limit === undefined ? chosen : chosen.slice(0, limit);
}

const NOT_FAILED: readonly ListedRun['stopReason'][] = ['SUCCESS', 'NEEDS_HUMAN', 'APPROVAL_DENIED', 'USER_ABORT'];

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

/** Matches the status, the stop reason, or any word that the list shows. */
function isInState(run: ListedRun, state: string): boolean {
  const wanted = state.toLowerCase();
  if (wanted === 'failed') return run.status === 'ended' && !NOT_FAILED.includes(run.stopReason);
  const words = [run.status, run.stopReason ?? '', ...stateText(run).split(/[,:] /)];
  return words.some((word) => word.toLowerCase() === wanted);
}

function isOf({ repo: { source } }: ListedRun, repo: string, cwd: string): boolean {
  return source === repoSource(cwd, repo) || (!repo.includes('/') && source.split('/').at(-1) === repo);
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
