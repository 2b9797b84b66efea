import type { Replayed } from '../../api/operations.ts';
import { safeLine } from '../../core/safe-text.ts';
import { exitCodeOf } from '../../core/stop-reason.ts';
import type { Cli } from '../cli.ts';

import type { Define } from '../define.ts';
import { widthOf } from '../run-table.ts';
import { table, type Cell } from '../table.ts';
import { parseCount } from '../until-stopped.ts';

interface Flags {
  story: string;
  attempt?: number;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Does an attempt at a story again, without a model: the real agent runs in the same image on the same commit, with the answers of its cassette, and the gates judge what it made. Nothing lands. Says where the agent first did something else.',
    )
    .argument('<runId>', 'a run with `model.mode = "record"`, or the start of its id')
    .requiredOption('--story <id>', 'the story')
    .option('--attempt <n>', 'which attempt (default: the last one)', parseCount)
    .option('--json', 'print the comparison as JSON')
    .addHelpText('after', HELP)
    .action((runId: string, flags: Flags) => replay(runId, flags, cli));
};

const HELP = `
Examples:
  halo run prd.json -c model.mode=record
  halo replay 0tbq --story US-002

Exit codes:
  0 ended as recorded    10 ended otherwise    2 no such run or story    5 cassette or image missing

See also: halo verify, halo logs`;

async function replay(runId: string, { story, attempt, json }: Flags, cli: Cli): Promise<void> {
  const stop = new AbortController();
  const off = cli.onStop(() => stop.abort());
  try {
    const which = attempt === undefined ? {} : { attempt };
    const replayed = await cli.withOperations((operations) =>
      operations.replay(runId, { storyId: story, ...which, signal: stop.signal }),
    );
    const same = replayed.checks.every(({ ok }) => ok);
    if (!same) cli.exitCode = exitCodeOf('GATE_FAILED');
    if (json) return await cli.printJson(replayed);
    await cli.print(...page(replayed, cli), '');
    await cli.print(same ? cli.paint('good', 'ended as recorded') : cli.paint('bad', 'did not end as recorded'));
  } finally {
    off();
  }
}

function page({ story, attempt, divergence, checks }: Replayed, cli: Cli): string[] {
  const heading = ['', 'WHAT', 'RECORDED', 'FOUND'].map((text) => ({ text }));
  const rows = checks.map(({ what, recorded, found, ok }): Cell[] => [
    { text: ok ? '✓' : '✗', tone: ok ? 'good' : 'bad' },
    { text: what },
    { text: shorten(recorded) },
    { text: shorten(found), tone: ok ? 'plain' : 'bad' },
  ]);
  return [
    `${cli.paint('strong', safeLine(story))}  attempt ${attempt}`,
    ...table([heading, ...rows], { paint: cli.paint, width: widthOf(cli) }),
    divergence === undefined ? 'Every request was as recorded.' : safeLine(divergence, 400),
  ];
}

function shorten(text: string): string {
  return /^[0-9a-f]{64}$/.test(text) ? text.slice(0, 12) : safeLine(text, 60);
}
