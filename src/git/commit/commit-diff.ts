import { mapConcurrent } from '../../lib/async.ts';
import { git, tryGit, type GitOutcome } from '../process/git.ts';
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
  if (ended === 'exited') {
    const patch = exitCode === 0 ? stdout : (await git(args, limits)).stdout;
    return showFormerTexts(patch, { gitDir, diffAsText: () => tryGit(args.toSpliced(4, 0, '--text'), limits) });
  }
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

/** As in git: a file is binary if there is a NUL among its first bytes. */
const FIRST_BYTES = 8_000;

/** A file that was text is shown, also if it is binary for git now: one NUL would hide all other changes of it. */
async function showFormerTexts(
  patch: Buffer,
  { gitDir, diffAsText }: { gitDir: string; diffAsText: () => Promise<GitOutcome> },
): Promise<Buffer> {
  const sections = splitFiles(patch);
  const wasText = await mapConcurrent(sections, 4, async (section) => {
    const [, id] = /\nindex ([0-9a-f]+)\.\.[0-9a-f]+[^\n]*\nBinary files /.exec(section) ?? [];
    if (id === undefined || /^0+$/.test(id)) return false;
    const { stdout, ended } = await tryGit(['cat-file', 'blob', id], { gitDir, maxBytes: FIRST_BYTES });
    return ['exited', 'too-much-output'].includes(ended) && !stdout.subarray(0, FIRST_BYTES).includes(0);
  });
  if (!wasText.includes(true)) return patch;
  const texts = splitFiles((await diffAsText()).stdout);
  const headOf = (section: string | undefined) => section?.slice(0, section.indexOf('\n'));
  const shown = sections.map((section, index) => {
    const text = texts[index];
    // The patch as text may be cut off, in its last part.
    const isWhole = texts.length === sections.length || index < texts.length - 1;
    return wasText[index] === true && isWhole && text !== undefined && headOf(text) === headOf(section)
      ? text
      : section;
  });
  return Buffer.from(shown.join(''), 'latin1');
}

/** The parts of a patch, one for each file; lines of content start with a blank or a sign. */
function splitFiles(patch: Buffer): string[] {
  return patch.toString('latin1').split(/(?<=\n)(?=diff --git )/);
}

const CUT = `halo: this patch is cut off, because it is larger than ${MAX_PATCH_BYTES / 1024 ** 2} MiB or takes too long to make.`;
