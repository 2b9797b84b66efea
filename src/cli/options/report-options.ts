import type { Command } from 'commander';
import type { ReportQuery } from '../../api/operations/requests.ts';
import type { UnreadableRun } from '../../api/reports/read-reports.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli } from '../cli.ts';
import { parseSince, SINCE } from './log-options.ts';

/** Options of commands that report over all runs. */
export interface ReportFlags {
  run?: string;
  since?: string;
  json?: true;
}

export function addReportScope(command: Command): Command {
  return command
    .option('--run <id>', 'only this run, by a unique part of its id')
    .option('--since <time>', `only what happened after ${SINCE}`);
}

/** The query of these options. Throws USAGE for a time that it cannot read. */
export function reportScope({ run, since }: Omit<ReportFlags, 'json'>): ReportQuery {
  return { run, since: since === undefined ? undefined : parseSince(since, new Date()) };
}

/** Names the runs that a report lacks on stderr. */
export async function noteUnreadable(runs: readonly UnreadableRun[], cli: Cli): Promise<void> {
  await cli.note(...runs.map(({ runId, reason }) => `${runId} is missing here: ${safeLine(reason)}`));
}
