import { git, tryGit } from '../process/git.ts';
import { assertObjectId } from '../process/object-id.ts';

export interface DiffRequest {
  gitDir: string;
  from: string;
  to: string;
}

/** A larger patch is cut off. */
const MOST_BYTES = 32 * 1024 * 1024;
/** For pairing what was renamed, which takes long with many large files. */
const TIME_MS = 120_000;

/**
 * The changes between two commits as a patch, byte for byte. No program that a repository configures is run, and no
 * attribute of it hides a file. A patch that is too large, or takes too long, is cut off; its first line says so.
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
  const limits = { gitDir, maxBytes: MOST_BYTES, timeoutMs: TIME_MS };
  const { ended, exitCode, stdout } = await tryGit(args, limits);
  if (ended === 'exited') return exitCode === 0 ? stdout : (await git(args, limits)).stdout;
  const whole = stdout.subarray(0, stdout.lastIndexOf(0x0a) + 1);
  return Buffer.concat([Buffer.from(`${CUT} The rest: git diff ${from} ${to}\n`), whole]);
}

const CUT = `halo: this patch is cut off, because it is larger than ${MOST_BYTES / 1024 ** 2} MiB or takes too long to make.`;
