import type { Operations } from '../../api/operations.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import type { Cli, Define } from '../cli.ts';
import {
  addAllOptions,
  addConfirmation,
  assertAll,
  controlAll,
  printControlResult,
  type AllFlags,
} from '../options/control-command.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';

interface Flags extends AllFlags {
  now?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Pauses a run: no other story starts. Running stories finish. With --now they are interrupted instead and start again when the run is resumed; the interrupted attempt is not counted. With --all, pauses all of your runs that have not ended, after a confirmation.',
    )
    .argument(...RUN_ARGUMENT)
    .option('--now', 'abort the current attempts, too: they use up no attempt, and start again');
  addConfirmation(addAllOptions(command))
    .option(
      '--json',
      'print as JSON: {runId, changed, stories, says}; with --all a list, in which a refused run has error',
    )
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => pause(runId, flags, cli));
};

const HELP = `
Examples:
  halo pause 2dhe
  halo pause 2dhe --now
  halo pause --all
  halo pause --all --all-users --now

Exit codes:
  0 paused or pausing    2 no such run    6 the run has ended

See also: halo resume, halo cancel`;

async function pause(runId: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  const { now = false, json = false } = flags;
  const control = (operations: Operations, id: string) => operations.pause({ runId: id, now });
  assertAll(flags, { 'a run': runId });
  // With --now, a run that is already pausing is interrupted.
  const affects = ({ paused }: ListedRun) => paused === undefined || (now && !paused.now);
  if (flags.all) return controlAll(flags, { verb: 'pause', word: 'paused', affects, control }, cli);
  const result = await cli.withRun(runId, control);
  await printControlResult(result, { word: 'paused', json, cli });
}
