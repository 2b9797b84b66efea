import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { commandOf } from '../../core/run/next-steps.ts';
import { INBOX_KINDS, inboxContent, inboxItems, inboxStep, outageItem, sharedBreakerItem } from '../../view/inbox.ts';
import type { Cli, Define } from '../cli.ts';
import { table, terminalColumns, type Cell } from '../output/table.ts';

/** Ended runs that are looked at: older questions are rarely answered. */
const MAX_ENDED = 200;

export const define: Define = (command, cli) => {
  command
    .description(
      `Lists what waits for a person: ${inboxContent({ all: true })}. Each row names the command that continues.`,
    )
    .option('--json', `print a list of kind (${INBOX_KINDS.join(', ')}), runId, story, text and next as JSON`)
    .addHelpText('after', HELP)
    .action((flags: { json?: true }) => show(flags, cli));
};

const HELP = `
Examples:
  halo inbox
  halo inbox --json | jq -r '.[] | select(.kind == "answer").text'

See also: halo top, halo answer, halo approve, halo land`;

/** Something that a person has to decide. */
interface Waiting {
  kind: string;
  runId?: string;
  story?: string;
  text: string;
  /** The command that continues. */
  next: string;
}

async function show({ json }: { json?: true }, cli: Cli): Promise<void> {
  const [runs, breakers, outages] = await cli.withOperations(async (operations) => [
    (await operations.listRuns({ ended: MAX_ENDED })).runs,
    (await operations.listBreakers({ shared: true })).breakers,
    (await operations.listWorkers()).outages,
  ]);
  const shared = [...breakers.map(sharedBreakerItem), ...outages.map(outageItem)];
  const waiting: Waiting[] = [
    ...runs.flatMap((run) => waitingIn(run, runs)),
    ...shared.map(({ command, ...item }) => ({ ...item, next: command })),
  ];
  if (json) return cli.printJson(waiting);
  if (waiting.length === 0) return cli.note('Nothing waits for you.');
  const heading = ['WHAT', 'RUN', 'STORY', 'TEXT', 'NEXT'].map((text) => ({ text }));
  const rows = waiting.map(({ kind, runId = '-', story = '-', text, next }): Cell[] => [
    { text: kind, tone: kind === 'land' ? 'good' : 'warn' },
    { text: runId },
    { text: safeLine(story) },
    { text: safeLine(text, 60) },
    { text: next },
  ]);
  await cli.print(...table([heading, ...rows], { paint: cli.paint, width: terminalColumns(cli) }));
}

function waitingIn(run: ListedRun, runs: readonly ListedRun[]): Waiting[] {
  return inboxItems(run, runs).map((item) => ({
    ...{ kind: item.kind, runId: run.runId, text: item.text },
    ...(item.story && { story: item.story.id }),
    next: commandOf(inboxStep(item, run)),
  }));
}
