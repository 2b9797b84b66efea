import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';

interface Flags {
  story?: string;
  reason?: string;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Rejects the commit of a story that is waiting for approval. The run ends with APPROVAL_DENIED; landed stories stay. Without --story, rejects the result of a run that has ended: `halo land` then refuses it.',
    )
    .argument(...RUN_ARGUMENT)
    .option('--story <id>', 'the story that is waiting')
    .option('--reason <text>', 'the reason, for the journal and the summary')
    .option('--json', 'print the story and the commit as JSON')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => reject(runId, flags, cli));
};

const HELP = `
Examples:
  halo reject 2dhe --story US-002 --reason "CI must not get more rights"

Exit codes:
  0 rejected    2 no such run or story    6 nothing to reject

See also: halo status, halo diff, halo approve`;

async function reject(runId: string | undefined, { story, reason, json }: Flags, cli: Cli): Promise<void> {
  if (story === undefined) return rejectRun(runId, { reason, json: json === true }, cli);
  const decided = await cli.withRun(runId, (operations, runId) => operations.reject(runId, story, reason));
  if (json) return cli.printJson(decided);
  const word = decided.changed ? cli.paint('bad', 'rejected') : cli.paint('quiet', 'as before');
  await cli.print(`${word}  ${safeLine(decided.story)}  ${decided.commit.slice(0, 7)}`);
}

async function rejectRun(
  runId: string | undefined,
  { reason, json }: { reason: string | undefined; json: boolean },
  cli: Cli,
): Promise<void> {
  const decided = await cli.withRun(runId, (operations, runId) => operations.rejectRun(runId, reason));
  if (json) return cli.printJson(decided);
  const word = decided.changed ? cli.paint('bad', 'rejected') : cli.paint('quiet', 'as before');
  await cli.print(`${word}  ${decided.runId}  up to ${decided.tip.slice(0, 7)}`);
}
