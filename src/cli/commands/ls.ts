import type { Operations } from '../../api/operations.ts';
import type { ListedRun, ListedRuns } from '../../api/runs/limited-runs.ts';
import type { Cli, Define } from '../cli.ts';
import { addRunFilters, filterRuns, isOpenState, type RunFilter } from '../options/filter-runs.ts';
import { parseSince } from '../options/log-options.ts';
import { pageRuns } from '../options/page-runs.ts';
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
    .option('--json', 'print the states of the runs as JSON')
    .addHelpText('after', HELP)
    .action((flags: Flags) => list(flags, cli));
};

const HELP = `
Examples:
  halo ls --limit 20
  halo ls --mine --state running
  halo ls --repo . --state SUCCESS
  halo ls --since 2d --user alice
  halo ls --json | jq -r '.[] | select(.stopReason == "NEEDS_HUMAN") | .runId'

See also: halo status, halo logs`;

async function list({ json, since, ...rest }: Flags, cli: Cli): Promise<void> {
  const from = since === undefined ? {} : { since: parseSince(since, new Date()) };
  const filter = { ...rest, ...from };
  const { runs, omitted, next, isFiltered } = await cli.withOperations((operations) =>
    readRuns(operations, { ...(json && { json }), ...filter }, cli),
  );
  if (json) return cli.printJson(runs);
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

/** Reads runs until the page is full; programs expect all of them. */
async function readRuns(operations: Operations, { json, ...filter }: Flags, cli: Cli): Promise<Chosen> {
  const { limit, since, before, ...conditions } = filter;
  const range = { ...(since !== undefined && { since }), ...(before !== undefined && { before }) };
  const most = limit ?? (json ? undefined : PAGE);
  const hasConditions = Object.values(conditions).some((value) => value !== undefined);
  const isFiltered = hasConditions || since !== undefined || before !== undefined;
  if (!hasConditions) return { ...(await operations.listSome({ ...range, newest: most })), isFiltered };
  if (most === undefined || isOpenState(conditions.state ?? '')) {
    const some = conditions.state !== undefined && isOpenState(conditions.state) ? { ended: 0 } : {};
    const all = (await operations.listSome({ ...range, ...some })).runs;
    return { runs: await filterRuns(all, filter, cli), omitted: NONE, isFiltered };
  }
  const runs: ListedRun[] = [];
  for await (const page of pageRuns(operations, range)) {
    runs.push(...(await filterRuns(page, conditions, cli)));
    const last = runs[most - 1];
    if (last !== undefined) return { runs: runs.slice(0, most), omitted: NONE, next: last.runId, isFiltered };
  }
  return { runs, omitted: NONE, isFiltered };
}

const NONE = { open: 0, ended: 0 };
