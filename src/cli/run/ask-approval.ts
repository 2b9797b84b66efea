import type { Operations } from '../../api/operations.ts';
import { safeLine } from '../../core/safe-text.ts';
import { askPerson } from '../ask-person.ts';
import type { Cli } from '../cli.ts';
import { showDiff } from '../diff/diff-text.ts';
import { noteReview } from '../output/review-run.ts';
import { tellFindings } from '../tell-findings.ts';

/**
 * Shows a person at the terminal each story that waits for approval and does what they say. Answers whether anything
 * was decided; false when they leave it for later, or nobody is there.
 */
export async function askApproval(operations: Operations, runId: string, cli: Cli): Promise<boolean> {
  if (cli.ask === undefined) return false;
  const { state } = await operations.get(runId);
  let decided = false;
  for (const story of state.stories.filter(({ held }) => held !== undefined)) {
    const { id, title } = story;
    await showDiff(await operations.diff(runId, id), cli);
    await noteReview(operations, runId, { cli, story: id });
    await tellFindings([story], cli);
    const what = `Let ${safeLine(id)} (${safeLine(title)}) land?`;
    switch (await decisionOf(`${what} [y]es, [n]o, anything else: later  `, cli)) {
      case 'yes':
        await operations.approve(runId, id);
        break;
      case 'no':
        await operations.reject(runId, id, undefined);
        break;
      case 'later':
        await cli.note('Nothing is lost: `halo approve` and `halo reject` decide on it at any time.');
        return decided;
    }
    decided = true;
  }
  return decided;
}

/** No answer leaves it for later. */
async function decisionOf(question: string, cli: Cli): Promise<'yes' | 'no' | 'later'> {
  const answer = await askPerson(question, cli);
  return answer === 'y' || answer === 'yes' ? 'yes' : answer === 'n' || answer === 'no' ? 'no' : 'later';
}
