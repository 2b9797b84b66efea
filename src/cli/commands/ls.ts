import type { Operations } from '../../api/operations.ts';
import type { ListedRuns } from '../../api/runs/limited-runs.ts';
import type { Cli, Define } from '../cli.ts';
import { addRunFilters, filterRuns, type RunFilter } from '../options/filter-runs.ts';
import { NO_RUNS, noteMissingWorker, runTable } from '../output/run-table.ts';

/** Rows without `--limit`. */
const PAGE = 100;

interface Flags extends RunFilter {
  json?: true;
}

export const define: Define = (command, cli) => {
  addRunFilters(command.description('Lists runs, newest first. Without filters, lists the newest 100.'))
    .option('--json', 'print the states of the runs as JSON')
    .addHelpText('after', HELP)
    .action((flags: Flags) => list(flags, cli));
};

const HELP = `
Examples:
  halo ls --limit 20
  halo ls --mine --state running
  halo ls --repo . --state SUCCESS
  halo ls --json | jq -r '.[] | select(.stopReason == "NEEDS_HUMAN") | .runId'

See also: halo status, halo logs`;

async function list({ json, ...filter }: Flags, cli: Cli): Promise<void> {
  const { runs: all, omitted } = await cli.withOperations((operations) =>
    readRuns(operations, { ...(json && { json }), ...filter }),
  );
  const runs = await filterRuns(all, filter, cli);
  if (json) return cli.printJson(runs);
  if (runs.length === 0) return cli.note(all.length === 0 ? NO_RUNS : `None of the ${all.length} runs matches.`);
  await cli.print(...runTable(runs, cli));
  await noteMissingWorker(runs, cli);
  const more = omitted.open + omitted.ended;
  if (more > 0 && filter.limit === undefined) await cli.note(`${more} more: halo ls --limit ${runs.length + more}`);
}

/** Filters need to read all runs, and programs expect all of them. */
function readRuns(operations: Operations, { json, limit, ...filter }: Flags): Promise<ListedRuns> {
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const newest = limit ?? (json ? undefined : PAGE);
  return operations.listSome(isFiltered ? {} : { newest });
}
