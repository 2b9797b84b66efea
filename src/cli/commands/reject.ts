import { safeLine } from '../../core/safe-text.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';

interface Flags {
  story?: string;
  reason?: string;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Refuses the commit of a story that waits for a person. The run ends with APPROVAL_DENIED; what landed before stays. Without --story: says no to all that an ended run made, and `halo land` refuses it.',
    )
    .argument(...RUN_ARGUMENT)
    .option('--story <id>', 'the story that waits')
    .option('--reason <text>', 'why, for the journal and the summary')
    .option('--json', 'print story and commit as JSON')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => reject(runId, flags, cli));
};

const HELP = `
Examples:
  halo reject 2dhe --story US-002 --reason "CI must not get more rights"

Exit codes:
  0 refused    2 no such run or story    6 nothing waits, with the reason

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
