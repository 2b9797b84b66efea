import { HaloError } from '../core/failure/errors.ts';
import { AT_LIMIT } from './process/git.ts';
import { printable } from './printable.ts';

/** A refused import: names the path (escaped, undefined for the whole) and the rule it breaks. */
export function violation(path: string | undefined, rule: string): HaloError {
  const what = path === undefined ? "The agent's result" : `"${printable(path)}"`;
  return new HaloError('POLICY_VIOLATION', `${what} is refused: ${rule}.`, {
    hint: 'Nothing of this attempt was taken over; the repository is unchanged.',
  });
}

/** Work on what a story brings: when git reaches a limit with it, the story is refused, and nothing around it is blamed. */
export async function blameStory<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof HaloError) || error.cause !== AT_LIMIT) throw error;
    throw violation(undefined, `it is too large or too intricate (${error.message.replace(/\.$/, '')})`);
  }
}
