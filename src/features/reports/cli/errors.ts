import { ageText } from '../../../view/ages.ts';
import { Option } from 'commander';
import { FAILURE_CLASSES, type FailureClass } from '../../../core/failure/failure.ts';
import type { ErrorGroup } from '../core/error-report.ts';
import { plainReason, reasonWords } from '../../../core/failure/plain-reason.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { Cli, Define } from '../../../cli/cli.ts';
import { addReportScope, reportScope, type ReportFlags } from './report-scope.ts';
import { noteUnreadable } from '../../../cli/options/filter-runs.ts';
import { table, terminalColumns, type Cell } from '../../../cli/output/table.ts';

interface Flags extends ReportFlags {
  class?: FailureClass;
}

export const define: Define = (command, cli) => {
  command.description(
    'Lists the failures of all attempts, grouped by stop reason and error, the most frequent first. Errors that differ only in numbers, ids or times are one group.',
  );
  addReportScope(command)
    .addOption(new Option('--class <class>', 'only failures of this class').choices(FAILURE_CLASSES))
    .option('--json', 'print the groups as JSON: signature, class, runs and stories, first and last time')
    .addHelpText('after', HELP)
    .action((flags: Flags) => errors(flags, cli));
};

const HELP = `
Examples:
  halo errors --since 7d
  halo errors --run 2dhe
  halo errors --class provider
  halo errors --json | jq -r '.errors[] | select(.stopReason == "GATE_FAILED") | .runs[]'

See also: halo logs, halo audit, halo breaker`;

async function errors({ json, class: only, ...scope }: Flags, cli: Cli): Promise<void> {
  const report = await cli.withOperations((operations) =>
    operations.reportErrors({ class: only, ...reportScope(scope) }),
  );
  if (json) return cli.printJson(report);
  if (report.errors.length === 0)
    await cli.note(only === undefined ? 'No attempt has failed.' : `No attempt has failed with the class ${only}.`);
  else await cli.print(...errorTable(report.errors, cli));
  await noteUnreadable(report.unreadable, cli);
}

function errorTable(groups: readonly ErrorGroup[], cli: Cli): string[] {
  const heading = ['COUNT', 'RUNS', 'REASON', 'LAST SEEN', 'EXAMPLE', 'ERROR'].map((text) => ({ text }));
  const now = new Date().toISOString();
  const rows = groups.map(({ count, runs, last, latest, ...failure }): Cell[] => [
    { text: String(count), tone: 'strong' },
    { text: String(runs.length) },
    { text: reasonWords(plainReason(failure.stopReason, failure)), tone: 'bad' },
    { text: ageText(last, now) },
    { text: `${latest.runId} ${safeLine(latest.story, 16)}` },
    { text: safeLine(latest.error.split('\n')[0] ?? '') },
  ]);
  return table([heading, ...rows], { paint: cli.paint, width: terminalColumns(cli) });
}
