import type { Operations } from '../api/operations.ts';
import { safeLine } from '../core/safe-text.ts';
import type { Cli } from './cli.ts';
import { coloredDiff } from './diff-text.ts';

/**
 * Shows a person at the terminal each story that waits for approval and does what they say. Answers whether anything
 * was decided; false when they leave it for later, or nobody is there.
 */
export async function askApproval(operations: Operations, runId: string, cli: Cli): Promise<boolean> {
  const { ask } = cli;
  if (ask === undefined) return false;
  const { state } = await operations.get(runId);
  let decided = false;
  for (const { id, title } of state.stories.filter(({ held }) => held !== undefined)) {
    await cli.write(coloredDiff(await operations.diff(runId, id), cli.paint));
    const what = `Let ${safeLine(id)} (${safeLine(title)}) land?`;
    switch (await answerOf(ask, `${what} [y]es, [n]o, anything else: later  `, cli)) {
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

/** No answer, Ctrl-C or the end of the input leave it for later. */
async function answerOf(ask: NonNullable<Cli['ask']>, question: string, cli: Cli): Promise<'yes' | 'no' | 'later'> {
  const stop = new AbortController();
  const off = cli.onStop(() => stop.abort());
  try {
    const answer = (await ask(question, stop.signal)).trim().toLowerCase();
    return answer === 'y' || answer === 'yes' ? 'yes' : answer === 'n' || answer === 'no' ? 'no' : 'later';
  } catch {
    return 'later';
  } finally {
    off();
  }
}
