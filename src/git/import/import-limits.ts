import { HaloError } from '../../core/failure/errors.ts';
import { printableText } from '../process/git-output.ts';
import { AT_LIMIT } from '../process/git.ts';

/** Limits on the result of one attempt. */
export interface ImportLimits {
  packBytes: number;
  /** Changed files. */
  entries: number;
  fileBytes: number;
  /** All changed files together. */
  totalBytes: number;
  /** For each step that processes hostile data. */
  timeMs: number;
}

export const IMPORT_LIMITS: ImportLimits = {
  packBytes: 256 * 1024 * 1024,
  entries: 10_000,
  fileBytes: 100 * 1024 * 1024,
  totalBytes: 1024 * 1024 * 1024,
  timeMs: 120_000,
};

export const NOTHING_IMPORTED = 'Nothing of this attempt was imported; the repository is unchanged.';

/** The `cause` of a POLICY_VIOLATION for a folder with a git repository of its own. */
export const NESTED_REPOSITORY = 'a repository in the repository';

/** The error of a rejected import: names the path (undefined: the whole result) and the rule that it breaks. */
export function policyViolation(path: string | undefined, rule: string): HaloError {
  const what = path === undefined ? "The agent's result" : `"${printableText(path)}"`;
  return new HaloError('POLICY_VIOLATION', `${what} is refused: ${rule}.`, {
    hint: NOTHING_IMPORTED,
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
