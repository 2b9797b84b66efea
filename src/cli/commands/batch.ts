import { addUsage, NO_USAGE } from '../../core/agent.ts';
import type { RunState } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { costText, usageText } from '../../view/usage-text.ts';
import { findBatch, groupRuns } from '../options/resolve-run.ts';
import type { Cli, Define } from '../cli.ts';
import { table, terminalColumns, type Cell } from '../output/table.ts';
import { runWords, storyCount, timeText } from '../../view/run-words.ts';

export const define: Define = (command, cli) => {
  command
    .description(
      'Shows the runs that one submit created for several repositories, in the order in which they run, with state, dependencies and total usage. Without an id, lists the batches.',
    )
    .argument('[batchId]', 'any unique part of a batch id')
    .option('--json', 'print the same as JSON: {batch, state, usage, runs}, or a list')
    .addHelpText('after', HELP)
    .action((batchId: string | undefined, flags: { json?: true }) => show(batchId, flags, cli));
};

const HELP = `
Examples:
  halo batch
  halo batch bjfw
  halo batch bjfw --json | jq -r '.runs[] | select(.stopReason != "SUCCESS") | .runId'

See also: halo submit, halo status`;

async function show(part: string | undefined, flags: { json?: true }, cli: Cli): Promise<void> {
  const batches = groupRuns(
    (await cli.withOperations((operations) => operations.listRuns({ batch: part ?? '' }))).runs,
  );
  if (part === undefined) {
    if (flags.json) return cli.printJson([...batches].map(([id, runs]) => toJson(id, runs)));
    if (batches.size === 0) return cli.note('No batches yet. Submit one with `halo submit --batch batch.toml`.');
    const priced = [...batches.values()].flat().some(isPriced);
    const heading = ['BATCH', 'STATE', 'RUNS', ...(priced ? ['COST'] : []), 'REPOSITORIES'];
    const rows = [...batches].map(([id, runs]) => batchRow(id, runs, priced));
    return cli.print(
      ...table([heading.map((text) => ({ text })), ...rows], { paint: cli.paint, width: terminalColumns(cli) }),
    );
  }
  const [id, runs] = findBatch(batches, part);
  return flags.json ? cli.printJson(toJson(id, runs)) : cli.print(...page(id, runs, cli));
}

function page(id: string, runs: RunState[], cli: Cli): string[] {
  const { paint } = cli;
  const { state, usage } = summarize(runs);
  const names = new Map(runs.map((run) => [run.runId, run.batch?.name ?? run.runId]));
  const priced = runs.some(isPriced);
  const cost = (run: RunState): Cell[] => (priced ? [{ text: costText(run.usage) }] : []);
  const heading = ['NAME', 'RUN', 'STATE', 'STORIES', 'TIME', ...(priced ? ['COST'] : []), 'AFTER'];
  const now = new Date().toISOString();
  const rows = runs.map((run): Cell[] => [
    { text: shortName(run), tone: 'strong' },
    { text: run.runId },
    runWords(run),
    { text: storyCount(run) },
    { text: timeText(run, now) },
    ...cost(run),
    { text: run.needs.map((need) => safeLine(names.get(need.run) ?? need.run)).join(', ') || '-' },
  ]);
  return [
    `${paint('quiet', 'batch'.padEnd(8))} ${id}`,
    `${paint('quiet', 'state'.padEnd(8))} ${state}`,
    `${paint('quiet', 'used'.padEnd(8))} ${usageText(usage) || '-'}`,
    '',
    ...table([heading.map((text) => ({ text })), ...rows], { paint, width: terminalColumns(cli) }),
  ];
}

function batchRow(id: string, runs: RunState[], priced: boolean): Cell[] {
  return [
    { text: id, tone: 'strong' },
    { text: summarize(runs).state },
    { text: String(runs.length) },
    ...(priced ? [{ text: costText(summarize(runs).usage) }] : []),
    { text: runs.map(shortName).join(', ') },
  ];
}

function isPriced({ usage }: RunState): boolean {
  return usage.costUsd !== undefined;
}

function shortName({ batch, repo }: RunState): string {
  const name = batch?.name ?? repo.source;
  return safeLine(name.split('/').at(-1) || name, 32);
}

function summarize(runs: readonly RunState[]) {
  const ended = runs.filter(({ status }) => status === 'ended').length;
  const good = runs.filter(({ stopReason }) => stopReason === 'SUCCESS').length;
  const failed = ended - good === 0 ? '' : `, ${ended - good} failed`;
  return {
    state: `${good} of ${runs.length} done${failed}`,
    usage: runs.reduce((sum, run) => addUsage(sum, run.usage), NO_USAGE),
  };
}

function toJson(id: string, runs: RunState[]) {
  return { batch: id, ...summarize(runs), runs };
}
