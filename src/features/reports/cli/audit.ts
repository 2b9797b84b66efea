import { Option } from 'commander';
import type { EventType } from '../../../core/journal/events.ts';
import { AUDITED_TYPES, type AuditEntry } from '../core/audit-report.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { Cli, Define } from '../../../cli/cli.ts';
import { addReportScope, reportScope, type ReportFlags } from './report-scope.ts';
import { noteUnreadable, parseLimit } from '../../../cli/options/filter-runs.ts';
import { table, terminalColumns, type Cell } from '../../../cli/output/table.ts';

interface Flags extends ReportFlags {
  by?: string;
  type?: EventType;
  limit: number;
}

const DEFAULT_LIMIT = 50;

export const define: Define = (command, cli) => {
  command.description(
    'Lists what people decided, what landed, and how runs and stories started and ended, over all runs, the latest first. Times are in UTC.',
  );
  addReportScope(command)
    .option('--by <user>', 'only what this user did: ann, or ann@host')
    .addOption(new Option('--type <type>', 'only events of this type').choices(AUDITED_TYPES))
    .option('--limit <n>', 'only the latest n events', parseLimit, DEFAULT_LIMIT)
    .option('--json', 'print the events as JSON, with repository and commit')
    .addHelpText('after', HELP)
    .action((flags: Flags) => audit(flags, cli));
};

const HELP = `
Examples:
  halo audit --since 24h
  halo audit --type run.landed --limit 20
  halo audit --by ada --json | jq -r '.entries[] | [.at, .runId, .type, .text] | @tsv'

See also: halo logs, halo cost, halo verify`;

async function audit({ by, type, limit, json, ...scope }: Flags, cli: Cli): Promise<void> {
  const query = { by, type, limit, ...reportScope(scope) };
  const report = await cli.withOperations((operations) => operations.reportAudit(query));
  if (json) return cli.printJson(report);
  if (report.entries.length === 0) await cli.note('No event matches.');
  else await cli.print(...auditTable(report.entries, cli));
  await noteUnreadable(report.unreadable, cli);
}

function auditTable(entries: readonly AuditEntry[], cli: Cli): string[] {
  const heading = ['TIME (UTC)', 'RUN', 'STORY', 'BY', 'EVENT', 'WHAT'].map((text) => ({ text }));
  const rows = entries.map(({ at, runId, story, by, type, text }): Cell[] => [
    { text: at.slice(0, 19).replace('T', ' '), tone: 'quiet' },
    { text: runId, tone: 'strong' },
    { text: safeLine(story ?? '-', 16) },
    { text: by === undefined ? 'halo' : safeLine(by, 24) },
    { text: type },
    { text },
  ]);
  return table([heading, ...rows], { paint: cli.paint, width: terminalColumns(cli) });
}
