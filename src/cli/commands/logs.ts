import type { Operations } from '../../api/operations.ts';
import { HaloError } from '../../core/errors.ts';
import type { JournalEvent } from '../../core/events.ts';
import { openSafeStream } from '../../core/safe-stream.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { RUN_ARGUMENT } from '../resolve-run.ts';
import { transcriptPrinter } from '../transcript-lines.ts';
import { stoppable } from '../until-stopped.ts';

interface Flags {
  follow?: true;
  story?: string;
  raw?: true;
  json?: true;
}

interface Reading {
  operations: Operations;
  runId: string;
  flags: Flags;
  cli: Cli;
  signal: AbortSignal;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Shows what a run does, for people: what the agent says, runs and edits, gate by gate, with elapsed time.',
    )
    .argument(...RUN_ARGUMENT)
    .option('-f, --follow', 'go on until the run ends')
    .option('--story <id>', 'only this story')
    .option('--raw', "the agent's own output, byte for byte (made safe where stdout is a terminal)")
    .option('--json', "halo's journal, one event per line")
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => logs(runId, flags, cli));
};

const HELP = `
Examples:
  halo logs 2dhe -f
  halo logs 2dhe --story US-002
  halo logs 2dhe --raw > agent.jsonl
  halo logs 2dhe --json | jq 'select(.type == "gate.ended")'

Ctrl-C ends the following, not the run.

See also: halo status, halo diff`;

async function logs(runId: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  if (flags.raw && flags.json)
    throw new HaloError('USAGE', '--raw and --json exclude each other.', {
      hint: "--raw is the agent's output, --json is halo's journal.",
    });
  const show = flags.raw ? showRaw : showEvents;
  await stoppable(cli, (signal) =>
    cli.withRun(runId, (operations, id) => show({ operations, runId: id, flags, cli, signal })),
  );
}

async function showEvents({ operations, runId, flags, cli, signal }: Reading): Promise<void> {
  await checkStory(operations, runId, flags.story);
  const print = transcriptPrinter(cli);
  for await (const event of operations.follow(runId, { after: 0, follow: flags.follow === true, signal })) {
    const wanted = isWanted(event, flags.story);
    if (!flags.json) await print(event, wanted);
    else if (wanted) await cli.printJson(event);
  }
}

async function showRaw({ operations, runId, flags, cli, signal }: Reading): Promise<void> {
  const chunks = operations.raw(runId, { storyId: flags.story, follow: flags.follow === true, signal });
  if (!cli.terminal.shown) {
    for await (const chunk of chunks) await cli.writeExactly(chunk);
    return;
  }
  const safe = openSafeStream();
  for await (const chunk of chunks) await cli.write(safe.write(chunk));
  await cli.write(safe.end());
}

async function checkStory(operations: Operations, runId: string, story: string | undefined): Promise<void> {
  if (story === undefined) return;
  const { state } = await operations.get(runId);
  if (state.stories.some(({ id }) => id === story)) return;
  throw new HaloError('STORY_NOT_FOUND', `Run ${state.runId} has no story ${story}.`, {
    hint: `Its stories are ${state.stories.map(({ id }) => id).join(', ')}.`,
  });
}

function isWanted(event: JournalEvent, story: string | undefined): boolean {
  return story === undefined || ('story' in event && event.story === story);
}
