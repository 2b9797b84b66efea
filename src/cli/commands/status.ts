import { Option } from 'commander';
import type { BreakerView } from '../../api/operations/schemas.ts';
import type { Operations } from '../../api/operations.ts';
import type { ListedRun, ListedRuns } from '../../api/runs/limited-runs.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';
import { NO_RUNS, noteMissingWorker, runsToWorkOn, runTable } from '../output/run-table.ts';
import { statusPage } from '../output/status-page.ts';

const MAX_OPEN = 50;
const RECENT_RUNS = 20;

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
    .option('--json', 'print the same as JSON: states of runs, or {state, record, dir}')
    .addOption(
      new Option('--watch', 'refresh the page every two seconds, until Ctrl-C or the end of the run').conflicts('json'),
    )
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
        const view = await operations.getRun({ runId: id });
        return { view, lines: statusPage(view, cli), last: view.state.status === 'ended' };
      };
      if (watch) return (await import('../output/status-page.ts')).watchPage(cli, read);
      const { view, lines } = await read();
      return json ? cli.printJson(view) : cli.paged(() => cli.print(...lines));
    });
  }
  await cli.withOperations(async (operations) => {
    if (watch) {
      const { watchPage } = await import('../output/status-page.ts');
      return watchPage(cli, async () => ({ lines: overview(await readAll(operations), cli), last: false }));
    }
    const all = await readAll(operations);
    if (json) return cli.printJson(all.runs);
    const [table, notes] = [tableOf(all, cli), notesOf(all, cli)];
    await cli.print(...table);
    await noteMissingWorker(runsToWorkOn(all.runs), cli);
    await cli.note(...notes);
  });
}

interface All extends ListedRuns {
  breakers: BreakerView[];
}

async function readAll(operations: Operations): Promise<All> {
  const [listed, { breakers }] = await Promise.all([
    operations.listRuns({ open: MAX_OPEN, ended: RECENT_RUNS }),
    operations.listBreakers({ shared: true }),
  ]);
  return { ...listed, runs: openFirst(listed.runs), breakers };
}

function overview(all: All, cli: Cli): string[] {
  return [...tableOf(all, cli), ...notesOf(all, cli)];
}

function tableOf({ runs }: All, cli: Cli): string[] {
  return runs.length === 0 ? [] : runTable(runs, cli);
}

/** Written to stderr, except by `--watch`. */
function notesOf({ runs, breakers, omitted }: All, cli: Cli): string[] {
  if (runs.length === 0) return [NO_RUNS];
  return [
    ...breakers.map(
      ({ key, status, reason }) =>
        `${cli.paintErr('warn', 'breaker')}  ${safeLine(key)} is ${status}: ${safeLine(reason)} (halo breaker list)`,
    ),
    ...moreRuns(omitted).map((text) => cli.paintErr('quiet', text)),
  ];
}

function moreRuns({ open, ended }: ListedRuns['omitted']): string[] {
  if (open > 0) return [`${open + ended} more, ${open} of them not ended: halo ls`];
  return ended > 0 ? [`${ended} more: halo ls`] : [];
}

function openFirst(runs: readonly ListedRun[]): ListedRun[] {
  const isEnded = ({ status }: ListedRun) => status === 'ended';
  return [...runs.filter((run) => !isEnded(run)), ...runs.filter(isEnded)];
}
