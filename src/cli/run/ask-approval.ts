import type { Operations } from '../../api/operations.ts';
import { flagsOf } from '../../core/review/flags.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { askPerson } from './run-until-signal.ts';
import type { Cli } from '../cli.ts';
import { showDiff } from '../diff/diff-text.ts';
import { noteReview, printFindings } from '../output/review-text.ts';

/**
 * Shows the user each story that is waiting for approval, and approves or rejects it by their answer. Returns whether
 * any story was decided.
 */
export async function askApproval(operations: Operations, runId: string, cli: Cli): Promise<boolean> {
  if (cli.ask === undefined) return false;
  const { state } = await operations.getRun({ runId });
  let decided = false;
  for (const story of state.stories.filter(({ held }) => held !== undefined)) {
    const { id, title } = story;
    await showDiff(await operations.readDiff({ runId, story: id }), cli);
    await noteReview(operations, runId, { cli, story: id });
    await printFindings([story], cli);
    const what = `Land ${safeLine(id)} (${safeLine(title)})?`;
    switch (await decisionOf(`${what} [y]es, [n]o, anything else: later  `, cli)) {
      case 'yes':
        // The question comes after all that is confirmed.
        await operations.approve({ runId, story: id, confirm: flagsOf([story]), commit: story.held?.commit });
        break;
      case 'no':
        await operations.reject({ runId, story: id });
        break;
      case 'later':
        await cli.note('Still waiting: use `halo approve` or `halo reject` at any time.');
        return decided;
    }
    decided = true;
  }
  return decided;
}

/** Without an answer, the story keeps waiting. */
async function decisionOf(question: string, cli: Cli): Promise<'yes' | 'no' | 'later'> {
  const answer = await askPerson(question, cli);
  return answer === 'y' || answer === 'yes' ? 'yes' : answer === 'n' || answer === 'no' ? 'no' : 'later';
}
