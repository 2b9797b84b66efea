import { posix } from 'node:path';
import { LARGE_BYTES, type LargeFile } from '../../core/noted-files.ts';
import { hasHidden } from '../../core/text/hidden-characters.ts';
import { readObjects, statObjects } from '../objects/read-objects.ts';
import { ABSENT, readTree, type RawChange } from '../objects/trees.ts';
import { NESTED_REPOSITORY, NOTHING_IMPORTED, policyViolation, type ImportLimits } from './import-limits.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { printableText } from '../process/git-output.ts';

const LINK = '120000';
const SUBMODULE = '160000';
const MODES = new Set(['100644', '100755', LINK]);
const MAX_LINK_BYTES = 4096;

interface ChangeCheck {
  /** The quarantine, which reads the base through the mirror. */
  gitDir: string;
  base: string;
  tree: string;
  changes: RawChange[];
  limits: ImportLimits;
  signal: AbortSignal | undefined;
}

export interface ValidatedChanges {
  /** The ids of the new blobs. */
  blobs: string[];
  /** Files that are larger than LARGE_BYTES and were not before. */
  large: LargeFile[];
}

/** Checks paths, modes, sizes, links and collisions. Throws POLICY_VIOLATION. */
export async function validateChanges(check: ChangeCheck): Promise<ValidatedChanges> {
  const { gitDir, base, tree, changes, signal } = check;
  for (const change of changes) assertEntryAllowed(change);
  const added = changes.filter((change) => change.oldMode === ABSENT).map((change) => change.path);
  const [checked] = await Promise.all([
    validateBlobs(check),
    added.length === 0 ? undefined : assertNoCaseCollisions({ gitDir, base, tree, added, signal }),
    assertNoEmbeddedRepositories({ gitDir, base, tree, changes, signal }),
  ]);
  await assertLinksAllowed(check);
  return checked;
}

function assertEntryAllowed({ oldMode, newMode, path }: RawChange): void {
  assertChangedPathAllowed(path);
  if (newMode === SUBMODULE && oldMode !== SUBMODULE)
    throw new HaloError('POLICY_VIOLATION', `${describeRepositories([path])}.`, {
      hint: NOTHING_IMPORTED,
      cause: NESTED_REPOSITORY,
    });
  if (oldMode === SUBMODULE || newMode === SUBMODULE) throw policyViolation(path, 'submodules may not be changed');
  if (newMode !== ABSENT && !MODES.has(newMode)) throw policyViolation(path, `file mode ${newMode} is not allowed`);
  if (oldMode === ABSENT) assertNewPathAllowed(path);
}

/** What the agent has to do about folders with a git repository of their own. At least one path. */
export function describeRepositories(paths: readonly string[]): string {
  const named = paths.slice(0, 5).map((path) => printableText(path));
  const [folders, git] = [named.map((path) => `${path}/`), named.map((path) => `${path}/.git`)].map((list) =>
    list.join(', '),
  );
  const subject =
    named.length === 1
      ? 'is a git repository or worktree of its own'
      : 'are git repositories or worktrees of their own';
  return `${folders} ${subject}, so no file in it can be part of the change: remove ${git} to add the files, or the whole folder if it is not needed`;
}

async function validateBlobs({ gitDir, changes, limits, signal }: ChangeCheck): Promise<ValidatedChanges> {
  const present = changes.filter((change) => change.newMode !== ABSENT);
  const ids = [...new Set(present.map((change) => change.newId))];
  const facts = await statObjects(gitDir, ids, signal);
  const big: (RawChange & { bytes: number })[] = [];
  let total = 0;
  for (const change of present) {
    const { newId, newMode, path } = change;
    const found = facts.get(newId);
    if (found?.type !== 'blob') throw policyViolation(path, 'its content is missing or not a file');
    if (found.size > limits.fileBytes) throw policyViolation(path, `the file is larger than ${limits.fileBytes} bytes`);
    if (newMode === LINK && found.size > MAX_LINK_BYTES)
      throw policyViolation(path, 'the symbolic link has no plain target');
    if (found.size > LARGE_BYTES) big.push({ ...change, bytes: found.size });
    total += found.size;
    if (total > limits.totalBytes)
      throw policyViolation(undefined, `its files are larger than ${limits.totalBytes} bytes together`);
  }
  const replaced = big.filter(({ oldMode }) => oldMode !== ABSENT).map(({ oldId }) => oldId);
  const before = await statObjects(gitDir, replaced, signal);
  const large = big.filter(({ oldId }) => (before.get(oldId)?.size ?? 0) <= LARGE_BYTES);
  return { blobs: ids, large: large.map(({ path, bytes }) => ({ path, bytes })) };
}

/** Call it after the sizes were checked: it reads all targets into memory. */
async function assertLinksAllowed({ gitDir, changes, signal }: ChangeCheck): Promise<void> {
  const links = changes.filter((change) => change.newMode === LINK);
  const targets = await readObjects(
    gitDir,
    links.map((link) => link.newId),
    { signal },
  );
  if (targets === undefined) throw policyViolation(undefined, 'the symbolic links are too large to be checked');
  links.forEach((link, index) => assertLinkAllowed(link.path, targets[index] ?? Buffer.alloc(0)));
}

const MAX_FOLDERS = 20_000;

interface CollisionRequest {
  gitDir: string;
  base: string;
  tree: string;
  /** Paths in `tree` that are not in `base`. */
  added: string[];
  signal?: AbortSignal | undefined;
}

/**
 * Rejects names that differ only in case or Unicode form, in every folder that got a new path. Pairs that already exist
 * in the base are allowed. Throws POLICY_VIOLATION.
 */
async function assertNoCaseCollisions({ gitDir, base, tree, added, signal }: CollisionRequest): Promise<void> {
  const folders = [...foldersOf(added)];
  const names = folders.flatMap((folder) => [`${tree}:${folder}`, `${base}:${folder}`]);
  const contents = await readObjects(gitDir, names, { signal });
  if (contents === undefined)
    throw policyViolation(undefined, 'the folders with new files are too large to be checked');
  const idBytes = tree.length / 2;
  folders.forEach((folder, index) => {
    const before = new Set(readTree(contents[index * 2 + 1], idBytes).map(({ name }) => name));
    const seen = new Map<string, string>();
    for (const { name } of readTree(contents[index * 2], idBytes)) {
      const twin = seen.get(foldName(name));
      seen.set(foldName(name), name);
      if (twin === undefined || (before.has(name) && before.has(twin))) continue;
      const [late, early] = before.has(name) ? [twin, name] : [name, twin];
      const path = folder === '' ? late : `${folder}/${late}`;
      throw policyViolation(path, `some file systems cannot distinguish it from "${early}"`);
    }
  });
}

/** All parent folders of the paths, including the root. */
function foldersOf(paths: string[]): Set<string> {
  const folders = new Set(['']);
  for (const path of paths) {
    // Bottom up, until a folder that is already known.
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
    if (folders.size > MAX_FOLDERS)
      throw policyViolation(undefined, `it adds files in more than ${MAX_FOLDERS} folders`);
  }
  return folders;
}

const MAX_PATH_BYTES = 4096;
const MAX_NAME_BYTES = 255;
const MAX_DEPTH = 64;
const MAX_TARGET_LENGTH = 1024;
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
/** Names that some file system treats as `.git`: other case, Windows short names, trailing dots and spaces. */
const GIT_NAME = /^(?:\.git|git~\d+)[ .]*$/i;
const MODULES_NAME = /^(?:\.gitmodules|gitmod~\d+|gi7eba~\d+|gi7d29~\d+)[ .]*$/i;
/** A Windows short name of a longer one: a file with such a name could be an alias of `.github`. */
const SHORT_NAME = /^[^.~]{1,6}~\d+(?:\.[^.]{0,3})?$/;
const RESERVED_NAME = /^(?:con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$) *(?:\..*)?$/;

/** Checks the rules for every changed path. Throws POLICY_VIOLATION. */
function assertChangedPathAllowed(path: string): void {
  if (INVISIBLE.test(path) || hasHidden(path))
    throw policyViolation(path, 'the path contains control or invisible characters');
  if (Buffer.byteLength(path) > MAX_PATH_BYTES)
    throw policyViolation(path, `the path is longer than ${MAX_PATH_BYTES} bytes`);
  for (const name of path.split('/')) {
    if (name === '' || name === '.' || name === '..') throw policyViolation(path, 'the path leaves its folder');
    const folded = foldName(name);
    if (GIT_NAME.test(folded)) throw policyViolation(path, 'a path may not lead into .git');
    if (MODULES_NAME.test(folded)) throw policyViolation(path, 'submodules may not be changed');
  }
}

/** Checks the additional rules for new paths; existing names are exempt. Throws POLICY_VIOLATION. */
function assertNewPathAllowed(path: string): void {
  if (path.normalize('NFC') !== path) throw policyViolation(path, 'the path is not in Unicode normal form C');
  if (/[\\:]/.test(path)) throw policyViolation(path, 'the path contains a backslash or a colon');
  const names = path.split('/');
  if (names.length > MAX_DEPTH) throw policyViolation(path, `the path is more than ${MAX_DEPTH} names deep`);
  for (const name of names) {
    if (Buffer.byteLength(name) > MAX_NAME_BYTES)
      throw policyViolation(path, `a name is longer than ${MAX_NAME_BYTES} bytes`);
    if (/[ .]$/.test(name)) throw policyViolation(path, 'a name ends with a space or a dot');
    if (SHORT_NAME.test(name)) throw policyViolation(path, 'the name has the form of a Windows short name');
    if (RESERVED_NAME.test(foldName(name))) throw policyViolation(path, 'the name is reserved on Windows');
  }
}

/** Checks that a symbolic link is relative and stays in the tree, whatever other links exist. Throws POLICY_VIOLATION. */
function assertLinkAllowed(path: string, target: Buffer): void {
  const text = target.toString('utf8');
  if (posix.basename(path).toLowerCase().startsWith('.git'))
    throw policyViolation(path, 'git files may not be symbolic links');
  if (
    text === '' ||
    target.length > MAX_TARGET_LENGTH ||
    !Buffer.from(text).equals(target) ||
    INVISIBLE.test(text) ||
    hasHidden(text)
  ) {
    throw policyViolation(path, 'the symbolic link has no plain target');
  }
  if (text.startsWith('/') || /[\\:]/.test(text)) throw policyViolation(path, 'the symbolic link is not relative');
  const names = text.split('/').filter((name) => name !== '' && name !== '.');
  const down = names.findIndex((name) => name !== '..');
  const up = down === -1 ? names.length : down;
  // `x/..` may lead elsewhere because x may be a link itself, so `..` is allowed at the start only.
  if (up > path.split('/').length - 1 || names.slice(up).includes('..')) {
    throw policyViolation(path, 'the symbolic link leads out of the tree');
  }
  if (names.some((name) => GIT_NAME.test(foldName(name))))
    throw policyViolation(path, 'the symbolic link leads into .git');
}

/** Folds case and Unicode form: names that a case-insensitive file system cannot distinguish get the same result. */
export function foldName(name: string): string {
  return name.normalize('NFKD').toUpperCase().toLowerCase().normalize('NFKD');
}

interface EmbeddedCheck {
  gitDir: string;
  base: string;
  tree: string;
  changes: readonly RawChange[];
  signal?: AbortSignal | undefined;
}

const FOLDER = '40000';
/** Names by which git recognizes a repository. */
const REPOSITORY_FILES = new Set(['head', 'objects', 'refs', 'commondir', 'config']);
/** Files and folders that control what git does in a repository. */
const CONTROL_FILES = new Set(['config', 'config.worktree', 'commondir', 'hooks', 'info']);

/**
 * Rejects bare repositories, also incomplete ones, among the files of a tree, and changes to the control files of one that
 * the base already contains. Git run in such a folder reads its settings, which name programs to execute. Entries count
 * whatever their type is (git follows links and accepts an executable file as a folder), in any case and Unicode form.
 * Throws POLICY_VIOLATION.
 */
async function assertNoEmbeddedRepositories({ gitDir, base, tree, changes, signal }: EmbeddedCheck): Promise<void> {
  const present = changes.filter(({ newMode }) => newMode !== ABSENT).flatMap(({ path }) => gitFilesIn(path));
  const folders = [...new Set(present.map(({ folder }) => folder))];
  const names = folders.flatMap((folder) => [`${tree}:${folder}`, `${base}:${folder}`]);
  const contents = await readObjects(gitDir, names, { signal });
  if (contents === undefined) throw policyViolation(undefined, 'the changed folders are too large to be checked');
  const idBytes = tree.length / 2;
  folders.forEach((folder, index) => {
    const [now, before] = [contents[index * 2], contents[index * 2 + 1]].map((raw) => isRepository(raw, idBytes));
    if (now !== true) return;
    const shown = folder === '' ? undefined : folder;
    if (before !== true)
      throw policyViolation(shown, 'git treats a folder with HEAD, objects and refs as a repository');
    const order = present.find((each) => each.folder === folder && CONTROL_FILES.has(foldName(each.name)));
    if (order !== undefined)
      throw policyViolation(order.path, 'it changes how git behaves in the repository in that folder');
  });
}

interface GitFilePath {
  path: string;
  folder: string;
  /** Of the entry of the folder that the path leads to. */
  name: string;
}

function gitFilesIn(path: string): GitFilePath[] {
  const names = path.split('/');
  const places = names.map((name, index) => ({ path, folder: names.slice(0, index).join('/'), name }));
  return places.filter(({ name }) => REPOSITORY_FILES.has(foldName(name)) || CONTROL_FILES.has(foldName(name)));
}

function isRepository(tree: Buffer | undefined, idBytes: number): boolean {
  const entries = readTree(tree, idBytes).map(({ mode, name }) => ({ mode, name: foldName(name) }));
  const has = (part: string) => entries.some(({ name }) => name === part);
  if (!entries.some(({ mode, name }) => name === 'head' && mode !== FOLDER)) return false;
  const parts = ['objects', 'refs', 'config'].filter(has);
  // Two of three are enough: the third may be an empty folder, which git does not track.
  return parts.length > 1 || has('commondir');
}
