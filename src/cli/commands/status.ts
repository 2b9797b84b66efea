import { Option } from 'commander';
import type { BreakerView, ListedRun, Operations } from '../../api/operations.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';
import { NO_RUNS, noteMissingWorker, runTable } from '../output/run-table.ts';
import { statusPage } from '../output/status-page.ts';

const RECENT_RUNS = 5;

interface Flags {
  json?: true;
  watch?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Shows active and recent runs. With a run id, shows the stories of that run (verdict, attempts, time, commit), its token usage, and the next steps.',
    )
    .argument(
      '[runId]',
      'any unique part of a run id; @ or -1 for the newest run of this repository, -2 for the one before',
    )
    .option('--json', 'print the same as JSON')
    .addOption(new Option('--watch', 'update the page in place until Ctrl-C').conflicts('json'))
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => status(runId, flags, cli));
};

const HELP = `
Examples:
  halo status
  halo status 2dhe
  halo status --watch
  halo status 2dhe --json | jq .state.stopReason

See also: halo ls, halo logs, halo diff, halo land`;

async function status(runId: string | undefined, { json, watch }: Flags, cli: Cli): Promise<void> {
  if (runId !== undefined) {
    return cli.withRun(runId, async (operations, id) => {
      const read = async () => {
        const view = await operations.get(id);
        return { view, lines: statusPage(view, cli), last: view.state.status === 'ended' };
      };
      if (watch) return (await import('../output/watch-page.ts')).watchPage(cli, read);
      const { view, lines } = await read();
      return json ? cli.printJson(view) : cli.paged(() => cli.print(...lines));
    });
  }
  await cli.withOperations(async (operations) => {
    if (watch) {
      const { watchPage } = await import('../output/watch-page.ts');
      return watchPage(cli, async () => ({ lines: overview(await readAll(operations), cli), last: false }));
    }
    const all = await readAll(operations);
    if (json) return cli.printJson(current(all.runs));
    const [table, notes] = [tableOf(all, cli), notesOf(all, cli)];
    await cli.print(...table);
    await noteMissingWorker(current(all.runs), cli);
    await cli.note(...notes);
  });
}

interface All {
  runs: ListedRun[];
  breakers: BreakerView[];
}

async function readAll(operations: Operations): Promise<All> {
  const [runs, breakers] = await Promise.all([operations.list(), operations.breakers()]);
  return { runs, breakers };
}

function overview(all: All, cli: Cli): string[] {
  return [...tableOf(all, cli), ...notesOf(all, cli)];
}

function tableOf({ runs }: All, cli: Cli): string[] {
  return runs.length === 0 ? [] : runTable(current(runs), cli);
}

/** Written to stderr, except by `--watch`. */
function notesOf({ runs, breakers }: All, cli: Cli): string[] {
  if (runs.length === 0) return [NO_RUNS];
  const shared = breakers.filter(({ key }) => !key.startsWith('run:'));
  const more = runs.length - current(runs).length;
  return [
    ...shared.map(
      ({ key, status, reason }) =>
        `${cli.paintErr('warn', 'breaker')}  ${safeLine(key)} is ${status}: ${safeLine(reason)} (halo breaker list)`,
    ),
    ...(more > 0 ? [cli.paintErr('quiet', `${more} more: halo ls`)] : []),
  ];
}

function current(runs: ListedRun[]): ListedRun[] {
  const active = runs.filter((run) => run.status !== 'ended');
  return [...active, ...runs.filter((run) => run.status === 'ended').slice(0, RECENT_RUNS)];
}
