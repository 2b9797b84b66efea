import { HaloError } from '../../core/failure/errors.ts';
import { AT_LIMIT } from '../process/git.ts';
import { printableText } from '../process/output.ts';

/** The error of a rejected import: names the path (undefined: the whole result) and the rule that it breaks. */
export function policyViolation(path: string | undefined, rule: string): HaloError {
  const what = path === undefined ? "The agent's result" : `"${printableText(path)}"`;
  return new HaloError('POLICY_VIOLATION', `${what} is refused: ${rule}.`, {
    hint: 'Nothing of this attempt was imported; the repository is unchanged.',
  });
}

/** Runs work on the result of a story. Throws POLICY_VIOLATION when git reaches a limit: the story is the cause. */
export async function limitsAsViolation<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof HaloError) || error.cause !== AT_LIMIT) throw error;
    throw policyViolation(undefined, `it is too large or too complex (${error.message.replace(/\.$/, '')})`);
  }
}
