import type { ListedRun, RunView } from '../../api/operations.ts';
import { safeLine } from '../../core/safe-text.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { noteMissingWorker } from '../note-missing-worker.ts';
import { NO_RUNS, runTable } from '../run-table.ts';
import { statusPage } from '../status-page.ts';

const RECENT_RUNS = 5;

export const define: Define = (command, cli) => {
  command
    .description(
      'Shows the runs that are going on and the last few that ended; with a run id, that run story by story: verdict, attempts, time, commit, tokens, and what to do next.',
    )
    .argument(
      '[runId]',
      'a run: any unique part of its id, or @, -1, -2, … as counted from the newest of this repository',
    )
    .option('--json', 'print the same as JSON')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: { json?: true }) => status(runId, flags, cli));
};

const HELP = `
Examples:
  halo status
  halo status 2dhe
  halo status 2dhe --json | jq .state.stopReason

See also: halo ls, halo logs, halo diff, halo land`;

async function status(runId: string | undefined, flags: { json?: true }, cli: Cli): Promise<void> {
  if (runId !== undefined) {
    const view: RunView = await cli.withRun(runId, (operations, id) => operations.get(id));
    return flags.json ? cli.printJson(view) : cli.print(...statusPage(view, cli));
  }
  const [runs, breakers] = await cli.withOperations((operations) =>
    Promise.all([operations.list(), operations.breakers()]),
  );
  const shown = current(runs);
  if (flags.json) return cli.printJson(shown);
  if (shown.length === 0) return cli.note(NO_RUNS);
  await cli.print(...runTable(shown, cli));
  await noteMissingWorker(shown, cli);
  const shared = breakers.filter(({ key }) => !key.startsWith('run:'));
  for (const { key, status, reason } of shared)
    await cli.note(
      `${cli.paintErr('warn', 'breaker')}  ${safeLine(key)} is ${status}: ${safeLine(reason)} (halo breaker list)`,
    );
  const more = runs.length - shown.length;
  if (more > 0) await cli.note(cli.paintErr('quiet', `${more} more: halo ls`));
}

function current(runs: ListedRun[]): ListedRun[] {
  const active = runs.filter((run) => run.status !== 'ended');
  return [...active, ...runs.filter((run) => run.status === 'ended').slice(0, RECENT_RUNS)];
}
