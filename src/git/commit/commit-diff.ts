import { git, tryGit } from '../process/git.ts';
import { splitNul } from '../process/output.ts';
import { assertObjectId } from '../process/object-id.ts';

export interface DiffRequest {
  gitDir: string;
  from: string;
  to: string;
  /** Only these paths; absent, or more than 2,000: all. */
  paths?: readonly string[];
}

/** Longer lists of paths do not fit on a command line. */
const MAX_PATHS = 2_000;

/** Larger patches are truncated. */
const MAX_PATCH_BYTES = 32 * 1024 * 1024;
/** Rename detection is slow with many large files. */
const TIME_MS = 120_000;

/**
 * Returns the changes between two commits as a patch, byte for byte. Runs no program that the repository configures and
 * ignores its attributes. A patch that is too large or takes too long is truncated; its first line then says so.
 */
export async function diffCommits({ gitDir, from, to, paths }: DiffRequest): Promise<Buffer> {
  assertObjectId(from, 'The older commit');
  assertObjectId(to, 'The newer commit');
  if (paths?.length === 0) return Buffer.alloc(0);
  const plain = ['-r', '-M', '--no-ext-diff', '--no-textconv', '--no-color'];
  const args = [
    '--literal-pathspecs',
    '-c',
    'core.quotePath=false',
    'diff-tree',
    ...plain,
    '-p',
    '--src-prefix=a/',
    '--dst-prefix=b/',
    from,
    to,
    ...(paths === undefined || paths.length > MAX_PATHS ? [] : ['--', ...paths]),
  ];
  const limits = { gitDir, maxBytes: MAX_PATCH_BYTES, timeoutMs: TIME_MS };
  const { ended, exitCode, stdout } = await tryGit(args, limits);
  if (ended === 'exited') return exitCode === 0 ? stdout : (await git(args, limits)).stdout;
  const whole = stdout.subarray(0, stdout.lastIndexOf(0x0a) + 1);
  return Buffer.concat([Buffer.from(`${CUT} The rest: git diff ${from} ${to}\n`), whole]);
}

/** The files that git shows no lines of, as their content is binary before or after. Ignores attributes as \`diffCommits\`. */
export async function listBinaryPaths({ gitDir, from, to }: Omit<DiffRequest, 'paths'>): Promise<string[]> {
  const args = ['diff-tree', '-r', '--no-renames', '--no-ext-diff', '--no-textconv', '--numstat', '-z', from, to];
  const limits = { gitDir, maxBytes: MAX_PATCH_BYTES, timeoutMs: TIME_MS };
  const { ended, exitCode, stdout: printed } = await tryGit(args, limits);
  const stdout = ended === 'exited' && exitCode !== 0 ? (await git(args, limits)).stdout : printed;
  return splitNul(stdout).flatMap((line) => (line.startsWith('-\t-\t') ? [line.slice(4)] : []));
}

const CUT = `halo: this patch is cut off, because it is larger than ${MAX_PATCH_BYTES / 1024 ** 2} MiB or takes too long to make.`;
