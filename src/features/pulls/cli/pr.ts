import type { Operations } from '../../../api/operations.ts';
import type { RunPull } from '../../../core/pulls/pull-state.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import { sleep } from '../../../lib/async.ts';
import { secretsToConfirm, type Flag } from '../../../core/review/flags.ts';
import { CONFIRM_OPTION, confirming } from '../../../cli/options/confirm-flags.ts';
import type { Cli, Define } from '../../../cli/cli.ts';
import { RUN_ARGUMENT } from '../../../cli/options/resolve-run.ts';
import { NO_WORKER } from '../../../view/waiting.ts';

interface Flags {
  confirm?: Flag[];
  wait: boolean;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Opens a pull request for what a run has landed, also if it was not submitted with `land.mode = "pr"`: a worker pushes the branch of the run to the forge of its repository. Waits until it is open, for at most 30 seconds. If the run has a pull request, prints it; if one could not be opened earlier, it is tried again now. A possible secret is pushed only after a person has confirmed it.',
    )
    .argument(...RUN_ARGUMENT)
    .option(...CONFIRM_OPTION)
    .option('--no-wait', 'do not wait until it is open')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => openPull(runId, flags, cli));
};

const HELP = `
Examples:
  halo diff 2dhe && halo pr 2dhe
  halo pr 2dhe --no-wait
  halo pr 2dhe --confirm secret

Exit codes:
  0 opened or requested    2 no such run    6 refused, not confirmed, without a forge, or not opened

See also: halo land, halo status, halo diff`;

const WAIT_MS = 30_000;
const EVERY_MS = 500;

async function openPull(runId: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  const { wait, json } = flags;
  const { requested, opened, workers } = await cli.withRun(runId, async (operations, id) => {
    const { state } = await operations.getRun({ runId: id });
    const asked = { verb: 'pr', runId: id, changes: secretsToConfirm(state, []), commit: state.tip } as const;
    const requested = await confirming(
      { ...asked, json, confirm: flags.confirm },
      (confirmation) => operations.requestPull({ runId: id, ...confirmation }),
      cli,
    );
    if (requested.pull !== undefined) return { requested, opened: requested.pull, workers: 1 };
    const { workers } = await operations.getRun({ runId: id });
    return { requested, opened: wait && workers > 0 ? await waitForPull(operations, id) : undefined, workers };
  });
  if (json) return cli.printJson({ ...requested, ...(opened !== undefined && { pull: opened }) });
  if (opened === undefined) {
    await cli.print(`${cli.paint('good', 'requested')}  ${requested.runId}  a worker opens the pull request`);
    return cli.note(workers === 0 ? cli.paintErr('warn', NO_WORKER) : `Next: halo status ${requested.runId}`);
  }
  const word = requested.changed ? cli.paint('good', 'opened') : cli.paint('quiet', 'as before');
  await cli.print(`${word}  ${requested.runId}  #${opened.number} ${safeLine(opened.url, 500)}`);
}

/** Undefined: it is not open after a while. Throws FORGE_FAILED if a worker could not open it. */
async function waitForPull(operations: Operations, runId: string): Promise<RunPull | undefined> {
  for (const end = Date.now() + WAIT_MS; Date.now() < end; await sleep(EVERY_MS)) {
    const { state, pull } = await operations.getRun({ runId });
    if (state.pull !== undefined) return state.pull;
    if (pull !== undefined) {
      const next = pull.retryAt === undefined ? '' : `A worker tries again at ${pull.retryAt}; `;
      throw new HaloError('FORGE_FAILED', `The pull request could not be opened: ${pull.why}`, {
        hint: `${next}\`halo pr ${runId}\` tries again now.`,
      });
    }
  }
  return undefined;
}
