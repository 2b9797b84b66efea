import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { mapConcurrent } from '../../lib/async.ts';
import { createFolders } from '../../lib/fs.ts';
import { assertObjectId, isObjectId, splitNul } from '../process/git-output.ts';
import { git, gitText, tryGit, type GitOutcome } from '../process/git.ts';

interface DiffRequest {
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
export async function diffCommits(request: DiffRequest): Promise<Buffer> {
  return (await readPatch(request)).patch;
}

/** The patch of `diffCommits`, and the files that git shows no lines of, as their content is binary before or after. */
export async function describeChange(
  request: Omit<DiffRequest, 'paths'>,
): Promise<{ patch: Buffer; binary: string[] }> {
  const { patch, mayHaveBinary } = await readPatch(request);
  return { patch, binary: mayHaveBinary ? await listBinaryPaths(request) : [] };
}

/** `mayHaveBinary`: git shows no lines of a file, a file was moved or has another mode, or the patch is cut off. */
async function readPatch({ gitDir, from, to, paths }: DiffRequest): Promise<{ patch: Buffer; mayHaveBinary: boolean }> {
  assertObjectId(from, 'The older commit');
  assertObjectId(to, 'The newer commit');
  if (paths?.length === 0) return { patch: Buffer.alloc(0), mayHaveBinary: false };
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
    // Lines of content start with a blank or a sign.
    const mayHaveBinary = ['\nBinary files ', '\nsimilarity index ', '\nold mode '].some((line) =>
      patch.includes(line),
    );
    if (!mayHaveBinary) return { patch, mayHaveBinary };
    const diffAsText = () => tryGit(args.toSpliced(4, 0, '--text'), limits);
    return { patch: await showFormerTexts(patch, { gitDir, diffAsText }), mayHaveBinary };
  }
  const whole = stdout.subarray(0, stdout.lastIndexOf(0x0a) + 1);
  const head = Buffer.from(`${CUT} The rest: git diff ${from} ${to}\n`);
  return { patch: Buffer.concat([head, whole]), mayHaveBinary: true };
}

async function listBinaryPaths({ gitDir, from, to }: Omit<DiffRequest, 'paths'>): Promise<string[]> {
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

/** Returns the first parent of a commit. Throws GIT_FAILED when the commit or the parent does not exist. */
export async function readParent(gitDir: string, commit: string): Promise<string> {
  assertObjectId(commit, 'The commit');
  return gitText(['rev-parse', '--verify', '--end-of-options', `${commit}^1`], { gitDir });
}

/** Whether a repository has a commit. */
export async function hasCommit(gitDir: string, commit: string): Promise<boolean> {
  assertObjectId(commit, 'The commit');
  return (await tryGit(['cat-file', '-e', `${commit}^{commit}`], { gitDir })).exitCode === 0;
}

/** Returns all parents of a commit. Throws GIT_FAILED when the commit does not exist. */
export async function readParents(gitDir: string, commit: string): Promise<string[]> {
  assertObjectId(commit, 'The commit');
  const parents = await gitText(['rev-parse', '--end-of-options', `${commit}^@`], { gitDir });
  return parents.split('\n').filter((line) => isObjectId(line));
}

/** Returns the newest commits of a range that changed a path, newest first, at most 100. Throws GIT_FAILED. */
export async function readChangesOf(
  gitDir: string,
  { base, tip, path }: { base: string; tip: string; path: string },
): Promise<string[]> {
  assertObjectId(base, 'The commit');
  assertObjectId(tip, 'The commit');
  const args = ['--literal-pathspecs', 'log', '--max-count=100', '--format=%H', `${base}..${tip}`, '--', path];
  const found = await gitText(args, { gitDir });
  return found.split('\n').filter((line) => isObjectId(line));
}

/** The difference between two texts as a patch of the file `name`; empty if they are equal. Throws GIT_FAILED. */
export async function diffTexts(before: string, after: string, name: string): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'halo-diff-'));
  try {
    for (const [side, text] of [
      ['a', before],
      ['b', after],
    ] as const) {
      await createFolders(dirname(join(folder, side, name)));
      await writeFile(join(folder, side, name), text);
    }
    const args = ['diff', '--no-index', '--no-color', '--no-ext-diff', '--no-textconv', '--no-prefix'];
    const { stdout } = await git([...args, '--', `a/${name}`, `b/${name}`], { cwd: folder, ok: [0, 1] });
    return stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Contents that a commit references but does not contain. Paths from its root, in the order of the tree. */
interface MissingContents {
  submodules: string[];
  /** Files whose content is in Git LFS. */
  pointers: string[];
}

const SUBMODULE = '160000 ';
const POINTER = '^version https://git-lfs\\.github\\.com/spec/v1$';

const SEARCH_MS = 30_000;

/** Finds submodules and LFS pointers. Returns nothing if git fails, because the result is only used for a warning. */
export async function searchMissingContents({
  gitDir,
  commit,
}: {
  gitDir: string;
  commit: string;
}): Promise<MissingContents> {
  const tree = await tryGit(['ls-tree', '-r', '-z', '--full-tree', commit], { gitDir });
  const submodules: string[] = [];
  let hasAttributes = false;
  for (const entry of splitNul(tree.stdout)) {
    if (entry.startsWith(SUBMODULE)) submodules.push(entry.slice(entry.indexOf('\t') + 1));
    hasAttributes ||= /[\t/]\.gitattributes$/.test(entry);
  }
  // Search file contents only if LFS is in use.
  const find = ['grep', '-l', '-z', '-F', '-e', 'filter=lfs', commit, '--', ':(glob)**/.gitattributes'];
  if (!hasAttributes || (await tryGit(find, { gitDir })).exitCode !== 0) return { submodules, pointers: [] };
  const found = await tryGit(['grep', '-l', '-z', '-I', '-e', POINTER, commit], { gitDir, timeoutMs: SEARCH_MS });
  // Each is `<commit>:<path>`.
  return { submodules, pointers: splitNul(found.stdout).map((each) => each.slice(commit.length + 1)) };
}
