import type { Cli, Define } from '../cli.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';
import { printControlResult } from '../output/print-control-result.ts';

interface Flags {
  now?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Pauses a run: no other story starts. Running stories finish. With --now they are interrupted instead and start again when the run is resumed; the interrupted attempt is not counted.',
    )
    .argument(...RUN_ARGUMENT)
    .option('--now', 'interrupt running stories')
    .option('--json', 'print what changed as JSON')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => pause(runId, flags, cli));
};

const HELP = `
Examples:
  halo pause 2dhe
  halo pause 2dhe --now

Exit codes:
  0 paused or pausing    2 no such run    6 the run has ended

See also: halo resume, halo cancel`;

async function pause(runId: string | undefined, { now, json }: Flags, cli: Cli): Promise<void> {
  const result = await cli.withRun(runId, (operations, runId) => operations.pause(runId, { now: now === true }));
  await printControlResult(result, { word: 'paused', json: json === true, cli });
}
