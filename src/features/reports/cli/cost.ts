import { InvalidArgumentError, Option } from 'commander';
import { COST_GROUPS, parseCostGroups, type CostGroup, type CostReport, type CostSum } from '../core/cost-report.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { QUALITY_GROUPS, type QualityReport, type QualitySum } from '../core/quality-report.ts';
import { formatElapsed } from '../../../core/text/format-elapsed.ts';
import { defined } from '../../../lib/guards.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { formatCount } from '../../../core/text/format-count.ts';
import { closeSentence } from '../../../core/text/did-you-mean.ts';
import { costText } from '../../../view/usage-text.ts';
import type { Cli, Define } from '../../../cli/cli.ts';
import { addReportScope, reportScope, type ReportFlags } from './report-scope.ts';
import { noteUnreadable } from '../../../cli/options/filter-runs.ts';
import { table, terminalColumns, type Cell } from '../../../cli/output/table.ts';

interface Flags extends ReportFlags {
  by?: CostGroup[];
  quality?: true;
}

export const define: Define = (command, cli) => {
  command.description(
    'Shows what models cost: tokens and money of all attempts, including failed ones, as the gateway metered them. Without --by, the newest runs and the sum of all; with --by, the most expensive first.',
  );
  addReportScope(command)
    .addOption(
      new Option(
        '--by <groups>',
        'group by one or several, separated by commas, such as repo,day, instead of the newest runs (days are those of UTC)',
      )
        .choices(COST_GROUPS)
        .argParser(parseBy)
        .default(undefined, 'the newest runs; repo with --quality'),
    )
    .option(
      '--quality',
      'show instead how many stories passed, with how many attempts, at what cost and how fast, by repo (default), user, agent, model or day',
    )
    .option('--json', 'print the report as JSON: by, rows, total, and unreadable (runs whose journal is damaged)')
    .addHelpText('after', HELP)
    .action((flags: Flags) => (flags.quality ? showQuality(flags, cli) : showCost(flags, cli)));
};

const HELP = `
Examples:
  halo cost
  halo cost --by day --since 14d
  halo cost --by repo --since 2030-01-01
  halo cost --by repo,day --since 7d
  halo cost --by model --run 2dhe
  halo cost --quality --by agent --since 30d
  halo cost --by user --json | jq '.total.usage.costUsd'

See also: halo ls, halo errors, halo audit`;

function parseBy(text: string): CostGroup[] {
  const groups = parseCostGroups(text);
  if (groups !== undefined) return groups;
  const refused = text.split(',').find((word) => parseCostGroups(word) === undefined);
  const list = `one or several of ${COST_GROUPS.join(', ')}, separated by commas`;
  throw new InvalidArgumentError(`It must be ${list}${closeSentence(refused, COST_GROUPS)}`);
}

async function showCost({ by, json, run, since }: Flags, cli: Cli): Promise<void> {
  if (by === undefined && !json && run === undefined) return showNewest(since, cli);
  return showGroups({ ...defined({ json, run, since }), by: by ?? ['run'] }, cli);
}

const NEWEST_RUNS = 20;

/** The newest runs that used a model, and the sum of all. */
async function showNewest(since: string | undefined, cli: Cli): Promise<void> {
  const by: CostGroup[] = ['run', 'project', 'user'];
  const report = await cli.withOperations((operations) =>
    operations.reportCosts({ by: by.join(','), ...reportScope(defined({ since })) }),
  );
  // Ids begin with the time of the submit.
  const newest = report.rows.toSorted((a, b) => (a.key < b.key ? 1 : -1)).slice(0, NEWEST_RUNS);
  if (newest.length === 0) await cli.note('No attempt has used a model.');
  else await cli.print(...costTable({ ...report, rows: newest }, by, cli));
  const more = report.rows.length - newest.length;
  if (more > 0)
    await cli.note(
      cli.paintErr(
        'quiet',
        `${more} older runs are in the total: halo cost --by run lists all, --by day sums them by day`,
      ),
    );
  await noteUnreadable(report.unreadable, cli);
}

async function showGroups({ by, json, run, since }: Flags & { by: CostGroup[] }, cli: Cli): Promise<void> {
  const report = await cli.withOperations((operations) =>
    operations.reportCosts({ by: by.join(','), ...reportScope(defined({ run, since })) }),
  );
  if (json) return cli.printJson(report);
  if (report.rows.length === 0) await cli.note('No attempt has used a model.');
  else await cli.print(...costTable(report, by, cli));
  await noteUnreadable(report.unreadable, cli);
}

async function showQuality({ by = ['repo'], json, run, since }: Flags, cli: Cli): Promise<void> {
  const [group, ...more] = by.map((name) => QUALITY_GROUPS.find((known) => known === name));
  if (group === undefined || more.length > 0)
    throw new HaloError(
      'USAGE',
      `With --quality, --by must be one of ${QUALITY_GROUPS.join(', ')}${closeSentence(by[0], QUALITY_GROUPS)}`,
    );
  const report = await cli.withOperations((operations) =>
    operations.reportQuality({ by: group, ...reportScope(defined({ run, since })) }),
  );
  if (json) return cli.printJson(report);
  if (report.rows.length === 0) await cli.note('No story has passed or failed.');
  else await cli.print(...qualityTable(report, cli));
  await noteUnreadable(report.unreadable, cli);
}

function qualityTable({ by, rows, total }: QualityReport, cli: Cli): string[] {
  const headings = ['STORIES', 'PASSED', 'FIRST ATTEMPT', 'ATTEMPTS', 'COST/PASSED', 'TIME TO PASS'];
  const heading = [HEADINGS[by], ...headings].map((text): Cell => ({ text }));
  const body = rows.map(({ key, ...sum }) => qualityCells(key, sum));
  const sum = rows.length > 1 ? [qualityCells('total', total)] : [];
  return table([heading, ...body, ...sum], { paint: cli.paint, width: terminalColumns(cli) });
}

function qualityCells(key: string, sum: QualitySum): Cell[] {
  const { stories, landed, firstPass, attempts, costPerLanded, minutesToLand } = sum;
  const share = (count: number) => `${count} (${Math.round((100 * count) / stories)} %)`;
  return [
    { text: safeLine(key, MAX_KEY_WIDTH), tone: 'strong' },
    { text: formatCount(stories) },
    { text: share(landed) },
    { text: share(firstPass) },
    { text: (attempts / stories).toFixed(1) },
    { text: costText({ costUsd: costPerLanded }) },
    { text: minutesToLand === undefined ? '-' : formatElapsed(minutesToLand * 60_000) },
  ];
}

const HEADINGS: Record<CostGroup, string> = {
  run: 'RUN',
  story: 'RUN AND STORY',
  project: 'PROJECT',
  repo: 'REPOSITORY',
  user: 'USER',
  agent: 'AGENT',
  model: 'MODEL',
  day: 'DAY (UTC)',
};
const MAX_KEY_WIDTH = 60;

function costTable({ rows, total }: CostReport, by: readonly CostGroup[], cli: Cli): string[] {
  const headings = by.map((group) => HEADINGS[group]);
  const heading = [
    ...headings,
    ...(hasDays(by) ? ['LAST DAY (UTC)'] : []),
    'RUNS',
    'ATTEMPTS',
    'REQUESTS',
    'INPUT',
    'CACHED',
    'OUTPUT',
    'COST',
  ];
  const body = rows.map(({ keys, ...sum }) => cells(keys, sum, hasDays(by)));
  const totalKeys = by.map((_, index) => (index === 0 ? 'total' : ''));
  const sum =
    rows.length > 1 ? [cells(totalKeys, total, hasDays(by)).map((cell): Cell => ({ ...cell, tone: 'strong' }))] : [];
  return table([heading.map((text) => ({ text })), ...body, ...sum], { paint: cli.paint, width: terminalColumns(cli) });
}

/** Whether rows of these groups have a day to show. */
function hasDays(by: readonly CostGroup[]): boolean {
  return by.includes('run') && !by.includes('day');
}

function cells(keys: readonly string[], { runs, attempts, usage, lastDay = '-' }: CostSum, withDay: boolean): Cell[] {
  const counts = [runs, attempts, usage.requests, usage.inputTokens, usage.cachedTokens, usage.outputTokens];
  return [
    ...keys.map((key): Cell => ({ text: safeLine(key, MAX_KEY_WIDTH), tone: 'strong' })),
    ...(withDay ? [{ text: lastDay }] : []),
    ...counts.map((count): Cell => ({ text: formatCount(count) })),
    { text: costText(usage) },
  ];
}
