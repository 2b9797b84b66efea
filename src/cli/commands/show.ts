import { prunedText } from '../../core/run/pruned.ts';
import { storyOf } from '../../core/run/state.ts';
import { movedText } from '../../view/facts.ts';
import { whyRunWaits } from '../../view/waiting.ts';
import type { Cli, Define } from '../cli.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';
import { readReview, reviewText } from '../output/review-text.ts';

export const define: Define = (command, cli) => {
  command
    .description(
      'Shows each story of a run for review: its acceptance criteria with the tests and files that the agent named for them (checked against the test reports of the gates), the gates, other changes, and the cost.',
    )
    .argument(...RUN_ARGUMENT)
    .argument('[story]', 'only this story')
    .option('--json', 'print the same as JSON: {runId, stories}, with files and doubts')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, story: string | undefined, flags: { json?: true }) =>
      show(runId, { ...flags, story }, cli),
    );
};

const HELP = `
Examples:
  halo show
  halo show 2dhe US-001
  halo show 2dhe --json | jq '.stories[] | {id, doubts}'

✓ criterion with tests that ran, ? criterion without such a test, ! needs a closer look.

Exit codes:
  0 shown    2 no such run or story

See also: halo diff, halo status, halo approve, halo land`;

async function show(
  runId: string | undefined,
  { story, json }: { story: string | undefined; json?: true },
  cli: Cli,
): Promise<void> {
  const { id, reviewed, waits, pruned, moved } = await cli.withRun(runId, async (operations, id) => {
    const wanted = story === undefined ? undefined : (review: { id: string }) => review.id === story;
    const reviewed = await readReview(operations, id, wanted);
    const view = await operations.getRun({ runId: id });
    const { state, moved } = view;
    if (reviewed.length === 0 && story !== undefined) storyOf(state, story);
    return { id: state.runId, reviewed, waits: whyRunWaits(view), pruned: state.pruned, moved };
  });
  if (json) {
    const stories = reviewed.map(({ review, files, doubts }) => ({ ...review, files: files ?? null, doubts }));
    return cli.printJson({ runId: id, stories });
  }
  const width = cli.terminal.shown ? (cli.screen.columns ?? 80) - 1 : 120;
  const parts = reviewed.map((each) => reviewText(each, { paint: cli.paint, width }));
  await cli.print(...parts.flatMap((lines, index) => (index === 0 ? lines : ['', ...lines])));
  for (const why of waits) await cli.print(`${cli.paint('warn', '!')} waiting: ${why}`);
  if (moved !== undefined)
    await cli.note(`${cli.paintErr('warn', '!')} ${movedText(moved)} Merge it: git merge halo/${id}`);
  if (pruned !== undefined) await cli.note(prunedText({ runId: id, pruned }));
}
