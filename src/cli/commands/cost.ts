import { Option } from 'commander';
import { COST_GROUPS, type CostGroup, type CostReport, type CostRow } from '../../core/report/cost-report.ts';
import { formatUsd } from '../../core/budget.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { formatCount } from '../../tui/usage-text.ts';
import type { Cli, Define } from '../cli.ts';
import { addReportScope, noteUnreadable, reportScope, type ReportFlags } from '../options/report-options.ts';
import { terminalColumns } from '../output/run-table.ts';
import { table, type Cell } from '../output/table.ts';

interface Flags extends ReportFlags {
  by: CostGroup;
}

export const define: Define = (command, cli) => {
  command.description(
    'Shows what models cost: tokens and money of all attempts, including failed ones, as the gateway metered them. The most expensive come first.',
  );
  addReportScope(command)
    .addOption(new Option('--by <group>', 'group by').choices(COST_GROUPS).default('run'))
    .option('--json', 'print the report as JSON')
    .addHelpText('after', HELP)
    .action((flags: Flags) => cost(flags, cli));
};

const HELP = `
Examples:
  halo cost --by day --since 14d
  halo cost --by repo --since 2030-01-01
  halo cost --by model --run 2dhe
  halo cost --by user --json | jq '.total.usage.costUsd'

See also: halo ls, halo errors, halo audit`;

async function cost({ by, json, ...scope }: Flags, cli: Cli): Promise<void> {
  const report = await cli.withOperations((operations) => operations.costs({ by, ...reportScope(scope) }));
  if (json) return cli.printJson(report);
  if (report.rows.length === 0) await cli.note('No attempt has used a model.');
  else await cli.print(...costTable(report, cli));
  await noteUnreadable(report.unreadable, cli);
}

const HEADINGS: Record<CostGroup, string> = {
  run: 'RUN',
  story: 'RUN AND STORY',
  repo: 'REPOSITORY',
  user: 'USER',
  model: 'MODEL',
  day: 'DAY (UTC)',
};
const MAX_KEY_WIDTH = 60;

function costTable({ by, rows, total }: CostReport, cli: Cli): string[] {
  const heading = [HEADINGS[by], 'RUNS', 'ATTEMPTS', 'REQUESTS', 'INPUT', 'CACHED', 'OUTPUT', 'COST'];
  const body = rows.map((row) => cells(safeLine(row.key, MAX_KEY_WIDTH), row));
  const sum = rows.length > 1 ? [cells('total', total).map((cell): Cell => ({ ...cell, tone: 'strong' }))] : [];
  return table([heading.map((text) => ({ text })), ...body, ...sum], { paint: cli.paint, width: terminalColumns(cli) });
}

function cells(key: string, { runs, attempts, usage }: Omit<CostRow, 'key'>): Cell[] {
  const counts = [runs, attempts, usage.requests, usage.inputTokens, usage.cachedTokens, usage.outputTokens];
  return [
    { text: key, tone: 'strong' },
    ...counts.map((count): Cell => ({ text: formatCount(count) })),
    { text: usage.costUsd === undefined ? '-' : formatUsd(usage.costUsd) },
  ];
}
