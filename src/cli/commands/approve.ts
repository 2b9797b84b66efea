import type { Decided } from '../../api/operations.ts';
import { safeLine } from '../../core/safe-text.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';

interface Flags {
  story?: string;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Lands the commit of a story that waits for a person, exactly as the gates have judged it, and the run goes on. Where other stories landed meanwhile, a worker merges it onto them and proves it again first. Without --story: says yes to all that an ended run made, for `halo land`.',
    )
    .argument('<runId>', 'a run, or the start of its id')
    .option('--story <id>', 'the story that waits')
    .option('--json', 'print story, commit and whether the run goes on as JSON')
    .addHelpText('after', HELP)
    .action((runId: string, flags: Flags) => approve(runId, flags, cli));
};

const HELP = `
Examples:
  halo diff 0tbq --story US-002 && halo approve 0tbq --story US-002
  halo diff 0tbq && halo approve 0tbq && halo land 0tbq

Exit codes:
  0 approved    2 no such run or story    6 nothing waits, with the reason    10 others moved the branch

See also: halo status, halo diff, halo reject`;

async function approve(runId: string, { story, json }: Flags, cli: Cli): Promise<void> {
  if (story === undefined) return approveRun(runId, json === true, cli);
  const decided = await cli.withOperations((operations) => operations.approve(runId, story));
  if (json) return cli.printJson(decided);
  const word = decided.changed ? cli.paint('good', 'approved') : cli.paint('quiet', 'as before');
  await cli.print(`${word}  ${safeLine(decided.story)}  ${decided.commit.slice(0, 7)}`);
  await cli.note(whatNext(runId, decided));
}

async function approveRun(runId: string, json: boolean, cli: Cli): Promise<void> {
  const decided = await cli.withOperations((operations) => operations.approveRun(runId));
  if (json) return cli.printJson(decided);
  const { tip, landed, changed } = decided;
  const word = changed ? cli.paint('good', 'approved') : cli.paint('quiet', 'as before');
  await cli.print(`${word}  ${decided.runId}  up to ${tip.slice(0, 7)}`);
  await cli.note(
    landed === undefined ? `take it over: halo land ${decided.runId}` : `it is on ${safeLine(landed.branch)} now`,
  );
}

function whatNext(runId: string, { goesOn, landed }: Decided): string {
  if (!landed && goesOn) {
    const why = 'other stories landed meanwhile: a worker merges it onto them, proves it again and lands it';
    return `${why}: halo logs ${runId} -f`;
  }
  if (!goesOn) return `nothing else of the run can start, or others wait for your word: halo status ${runId}`;
  return `the run goes on as soon as a worker takes it (halo worker, halo up): halo logs ${runId} -f`;
}
