import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';
import { showSteered } from '../output/print-control-result.ts';

interface Flags {
  now?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Lets a run rest: it starts no more stories. A story under way goes on to its end, or with --now it is interrupted, which costs it no attempt: it begins anew when the run is resumed.',
    )
    .argument(...RUN_ARGUMENT)
    .option('--now', 'interrupt the story under way, too')
    .option('--json', 'print what changed as JSON')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => pause(runId, flags, cli));
};

const HELP = `
Examples:
  halo pause 2dhe
  halo pause 2dhe --now

Exit codes:
  0 it rests, or will    2 no such run    6 it has ended

See also: halo resume, halo cancel`;

async function pause(runId: string | undefined, { now, json }: Flags, cli: Cli): Promise<void> {
  const steered = await cli.withRun(runId, (operations, runId) => operations.pause(runId, { now: now === true }));
  await showSteered(steered, { word: 'paused', json: json === true, cli });
}
