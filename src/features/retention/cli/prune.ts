import { InvalidArgumentError } from 'commander';
import type { PruneReport, PruneRequest } from '../api/prune-schemas.ts';
import type { Removed } from '../api/retention-report.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { formatSize, parseDuration, parseSize } from '../../../lib/units.ts';
import type { Cli, Define } from '../../../cli/cli.ts';
import { table, terminalColumns, type Cell } from '../../../cli/output/table.ts';
import { askPerson, stoppable } from '../../../cli/run/run-until-signal.ts';

interface Flags {
  olderThan?: string;
  runs?: number;
  journalsOlderThan?: string;
  maxSize?: string;
  dryRun?: true;
  yes?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Removes artifacts of ended runs (logs, raw output of agents, debug bundles), then whole runs, the oldest first, as `[keep]` or the options say, and mirrors that no run uses. Runs that have not ended, that wait for approval, or whose commits have not landed on your branch stay. Without `[keep]` and options, no run is removed.',
    )
    .option('--older-than <time>', 'remove artifacts of runs that ended this long ago, e.g. 30d', parseAge)
    .option('--runs <n>', 'only this many ended runs, the newest, keep their artifacts', parseRuns)
    .option('--journals-older-than <time>', 'remove whole runs that ended this long ago, e.g. 365d', parseAge)
    .option('--max-size <size>', 'maximum size of all runs, e.g. 20g', parseMaxSize)
    .option('--dry-run', 'only show what would be removed, and why')
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--json', 'print the result as JSON, with the runs that always stay and the reasons')
    .addHelpText('after', HELP)
    .action((flags: Flags) => prune(flags, cli));
};

const HELP = `
Examples:
  halo prune --dry-run
  halo prune --older-than 30d
  halo prune --max-size 20g --yes --json | jq .bytes

Exit codes:
  0 removed          1 some runs could not be read or removed
  2 not confirmed    6 another process is removing, or the clock may be wrong

See also: halo doctor, halo config, halo snapshot`;

async function prune(flags: Flags, cli: Cli): Promise<void> {
  const request: PruneRequest = {
    artifacts: flags.olderThan,
    runs: flags.runs,
    journals: flags.journalsOlderThan,
    maxSize: flags.maxSize,
  };
  await stoppable(cli, (signal) =>
    cli.withOperations(async (operations) => {
      const preview = async () => operations.prune({ ...request, dryRun: true }, signal);
      if (flags.dryRun) return show(await preview(), flags, cli);
      if (!flags.yes) {
        const planned = await preview();
        if (planned.removed.length === 0) return show(planned, flags, cli);
        await confirm(planned, cli);
      }
      await show(await operations.prune(request, signal), flags, cli);
    }),
  );
}

async function show(report: PruneReport, { dryRun, json }: Flags, cli: Cli): Promise<void> {
  if (report.failed.length > 0) cli.exitCode = FAILED;
  if (json) return cli.printJson(report);
  const { removed, heldBack, failed, hasLimits, bytes, excessBytes } = report;
  if (removed.length > 0) {
    await cli.print(...rows(removed, cli));
    await cli.note(`${dryRun ? 'Would remove' : 'Removed'} ${formatSize(bytes)}.`);
  } else await cli.note('There is nothing to remove.');
  for (const { runId, why } of heldBack.slice(0, MAX_SHOWN))
    await cli.note(cli.paintErr('quiet', `${runId} stays: ${safeLine(why)}`));
  if (heldBack.length > MAX_SHOWN) await cli.note(`${heldBack.length - MAX_SHOWN} more runs stay: see --json`);
  for (const { runId, mirror, error } of failed)
    await cli.note(cli.paintErr('bad', `${runId ?? safeLine(mirror ?? '-')} failed: ${safeLine(error)}`));
  if (excessBytes > 0)
    await cli.note(
      `The runs that must stay are ${formatSize(excessBytes)} larger than the maximum size, so no whole run is removed to reach it.`,
    );
  if (!hasLimits)
    await cli.note(
      'No limit is set, so only what belongs to no run goes. Set `[keep]` in config.toml, or --older-than.',
    );
}

/** Some runs could not be read or removed. */
const FAILED = 1;
const MAX_SHOWN = 20;

async function confirm(planned: PruneReport, cli: Cli): Promise<void> {
  if (cli.ask !== undefined) {
    await cli.note(...rows(planned.removed.slice(0, MAX_SHOWN), cli));
    if (planned.removed.length > MAX_SHOWN) await cli.note(`and ${planned.removed.length - MAX_SHOWN} more`);
    const answer = await askPerson(`Remove ${formatSize(planned.bytes)}? [y]es, anything else: no  `, cli);
    if (answer === 'y' || answer === 'yes') return;
  }
  throw new HaloError('USAGE', `Nothing was removed: removing ${formatSize(planned.bytes)} needs confirmation.`, {
    hint: 'Look at it with --dry-run, then confirm it with --yes.',
  });
}

function rows(removed: Removed[], cli: Cli): string[] {
  const heading = ['RUN', 'WHAT', 'SIZE', 'WHY'].map((text) => ({ text }));
  const lines = removed.map(({ runId, mirror, what, bytes, why }): Cell[] => [
    { text: runId ?? safeLine(mirror ?? '-'), tone: 'strong' },
    { text: what === 'run' ? 'whole run' : what },
    { text: formatSize(bytes) },
    { text: safeLine(why) },
  ]);
  return table([heading, ...lines], { paint: cli.paint, width: terminalColumns(cli) });
}

function parseAge(text: string): string {
  if (parseDuration(text) !== undefined) return text;
  throw new InvalidArgumentError('It must be a duration, like 30d or 12h.');
}

function parseMaxSize(text: string): string {
  if (parseSize(text) !== undefined) return text;
  throw new InvalidArgumentError('It must be a size, like 20g or 500m.');
}

function parseRuns(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 0 to 999999.');
}
