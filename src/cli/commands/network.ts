import type { JournalEvent } from '../../core/journal/events.ts';
import { summarizeNetwork, type NetworkProposal, type NetworkRow } from '../../core/journal/network-report.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Tone } from '../../core/transcript/transcript-line.ts';
import { formatSize } from '../../lib/units.ts';
import { storyOf } from '../../core/run/state.ts';
import type { Cli, Define } from '../cli.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';
import { table, terminalColumns, type Cell } from '../output/table.ts';

interface Flags {
  story?: string;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Lists the network requests of a run by story: served, refused with the reason, or failed. Proposes the smallest [network] settings that would allow them.',
    )
    .argument(...RUN_ARGUMENT)
    .option('--story <id>', 'only the requests of this story')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => network(runId, flags, cli));
};

const HELP = `
Examples:
  halo network 2dhe
  halo network 2dhe --story US-002
  halo network 2dhe --json | jq -r '.rows[] | select(.outcome == "refused") | .target'

See also: halo logs, halo config show`;

async function network(runId: string | undefined, { story, json }: Flags, cli: Cli): Promise<void> {
  const events = await cli.withRun(runId, async (operations, id) => {
    const all: JournalEvent[] = [];
    for await (const { event } of await operations.followEvents({ runId: id, after: 0, follow: false }))
      all.push(event);
    if (story !== undefined) storyOf((await operations.getRun({ runId: id })).state, story);
    return all;
  });
  const report = summarizeNetwork(events, story);
  if (json) return cli.printJson(report);
  if (report.rows.length === 0) return cli.note('no network requests');
  await cli.print(
    ...rowTable(report.rows, cli),
    ...reasons(report.rows, cli),
    '',
    ...proposalText(report.proposal, cli),
  );
}

const TONES: Record<NetworkRow['outcome'], Tone> = { served: 'plain', refused: 'bad', failed: 'warn' };

function rowTable(rows: NetworkRow[], cli: Cli): string[] {
  const heading = ['STORY', 'ATTEMPT', 'PHASE', 'OUTCOME', 'TIMES', 'BYTES', 'ROUTE', 'REQUEST'].map((text) => ({
    text,
  }));
  const cells = rows.map((row): Cell[] => [
    { text: safeLine(row.story, 16), tone: 'quiet' },
    { text: String(row.attempt), tone: 'quiet' },
    { text: row.phase },
    { text: row.outcome, tone: TONES[row.outcome] },
    { text: String(row.count) },
    { text: row.bytes === 0 ? '-' : formatSize(row.bytes) },
    { text: row.route },
    { text: `${safeLine(row.method, 20)} ${safeLine(row.target)}`, tone: TONES[row.outcome] },
  ]);
  return table([heading, ...cells], { paint: cli.paint, width: terminalColumns(cli) });
}

function reasons(rows: NetworkRow[], cli: Cli): string[] {
  const reasons = [...new Set(rows.flatMap(({ reason }) => (reason === undefined ? [] : [safeLine(reason, 400)])))];
  return reasons.length === 0 ? [] : ['', ...reasons.map((reason) => cli.paint('bad', reason))];
}

function proposalText({ allow, registries, agentRegistries }: NetworkProposal, cli: Cli): string[] {
  const lines = Object.entries({ allow, registries, agent_registries: agentRegistries })
    .filter(([, names]) => names.length > 0)
    .map(([key, names]) => `${key} = [${names.map((name) => JSON.stringify(name)).join(', ')}]`);
  if (lines.length === 0) return [cli.paint('quiet', 'no [network] settings are needed')];
  const heading = cli.paint(
    'quiet',
    '# the smallest settings that allow these requests; check each line before you add it',
  );
  return [heading, '[network]', ...lines];
}
