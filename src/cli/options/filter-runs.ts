import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { ListedRun } from '../../api/operations.ts';
import type { Cli } from '../cli.ts';
import { repoSource } from './run-options.ts';
import { stateText } from '../output/run-table.ts';

/** Options that choose among runs. */
export interface RunFilter {
  state?: string;
  repo?: string;
  user?: string;
  mine?: true;
  limit?: number;
}

export function addRunFilters(command: Command): Command {
  return command
    .option('--state <state>', 'only runs in this state, as the list shows it, e.g. running, queued, ended, SUCCESS')
    .option('--repo <path>', 'only runs of this repository: its path, address or the name of its folder')
    .option('--user <name>', 'only runs of this user')
    .option('--mine', 'only your own runs')
    .option('--limit <n>', 'only the newest of them', parseLimit);
}

/** The runs that fit all that is asked for, in their order. */
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

/** By its status, its stop reason, or any word that the list shows. */
function isInState(run: ListedRun, state: string): boolean {
  const wanted = state.toLowerCase();
  const words = [run.status, run.stopReason ?? '', ...stateText(run).split(/[,:] /)];
  return words.some((word) => word.toLowerCase() === wanted);
}

function isOf({ repo: { source } }: ListedRun, repo: string, cwd: string): boolean {
  return source === repoSource(cwd, repo) || (!repo.includes('/') && source.split('/').at(-1) === repo);
}

function parseLimit(text: string): number {
  if (/^[1-9][0-9]{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1 on.');
}
