import type { Command } from 'commander';
import { parseSince, SINCE } from '../../../cli/options/filter-runs.ts';
import type { ReportQuery } from '../api/operations.ts';

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
