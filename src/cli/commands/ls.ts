import type { Operations } from '../../api/operations.ts';
import type { ListedRuns } from '../../api/runs/limited-runs.ts';
import type { Cli, Define } from '../cli.ts';
import { defined } from '../../lib/guards.ts';
import { addRunFilters, noteUnreadable, toQuery, type RunFilter } from '../options/filter-runs.ts';
import { NO_RUNS, noteMissingWorker, runsToWorkOn, runTable } from '../output/run-table.ts';

/** Rows without `--limit`. */
const PAGE = 100;

interface Flags extends RunFilter {
  json?: true;
}

export const define: Define = (command, cli) => {
  addRunFilters(
    command.description(
      'Lists the newest 100 runs that match, the newest first. --before lists the next ones; --json lists all.',
    ),
  )
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action((flags: Flags) => list(flags, cli));
};

const HELP = `
Examples:
  halo ls --limit 20
  halo ls --mine --state running
  halo ls --repo . --state SUCCESS
  halo ls --since 2d --user alice
  halo ls --find 'voucher shop' --since 2030-01-20 --until 2030-01-27
  halo ls --json | jq -r '.[] | select(.stopReason == "NEEDS_HUMAN") | .runId'

See also: halo status, halo logs`;

async function list({ json, ...filter }: Flags, cli: Cli): Promise<void> {
  const {
    runs,
    omitted,
    next,
    isFiltered,
    unreadable = [],
  } = await cli.withOperations((operations) => readRuns(operations, { ...(json && { json }), ...filter }, cli));
  await noteUnreadable(unreadable, cli);
  if (json) return cli.printJson(runs);
  if (runs.length === 0 && unreadable.length > 0) return;
  if (runs.length === 0) return cli.note(isFiltered ? 'No run matches.' : NO_RUNS);
  await cli.print(...runTable(runs, cli));
  await noteMissingWorker(runsToWorkOn(runs), cli);
  if (filter.limit !== undefined || next === undefined) return;
  if (isFiltered) await cli.note(`There may be more: add --before ${next}`);
  else await cli.note(`${omitted.open + omitted.ended} more: halo ls --before ${next}`);
}

interface Chosen extends ListedRuns {
  isFiltered: boolean;
}

/** Programs expect all runs. */
async function readRuns(operations: Operations, { json, ...filter }: Flags, cli: Cli): Promise<Chosen> {
  const { limit, ...conditions } = filter;
  const most = limit ?? (json ? undefined : PAGE);
  const isFiltered = Object.values(conditions).some((value) => value !== undefined);
  const listed = await operations.listRuns({ ...(await toQuery(filter, cli)), ...defined({ newest: most }) });
  return { ...listed, isFiltered };
}
