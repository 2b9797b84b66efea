import { git } from './git.ts';
import { assertObjectId } from './object-id.ts';

export interface DiffRequest {
  gitDir: string;
  from: string;
  to: string;
}

/** A larger diff is GIT_FAILED. */
const MOST_BYTES = 32 * 1024 * 1024;

/**
 * The changes between two commits as a patch, byte for byte. No program that a repository configures is run, and no
 * attribute of it hides a file.
 */
export async function diffCommits({ gitDir, from, to }: DiffRequest): Promise<Buffer> {
  assertObjectId(from, 'The older commit');
  assertObjectId(to, 'The newer commit');
  const plain = ['-r', '-M', '--no-ext-diff', '--no-textconv', '--no-color'];
  const args = [
    '-c',
    'core.quotePath=false',
    'diff-tree',
    ...plain,
    '-p',
    '--src-prefix=a/',
    '--dst-prefix=b/',
    from,
    to,
  ];
  return (await git(args, { gitDir, maxBytes: MOST_BYTES })).stdout;
}
