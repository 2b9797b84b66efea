import { LARGE_BYTES, type LargeFile } from '../../core/noted-files.ts';
import { assertNoEmbeddedRepositories } from './embedded-repositories.ts';
import type { ImportLimits } from './import-limits.ts';
import { readObjects, statObjects } from '../objects/read-objects.ts';
import { assertChangedPathAllowed, assertLinkAllowed, assertNewPathAllowed, foldName } from './path-policy.ts';
import { ABSENT, type RawChange } from '../objects/tree-diff.ts';
import { policyViolation } from './policy-violation.ts';
import { readTree } from '../objects/tree-entries.ts';

const LINK = '120000';
const SUBMODULE = '160000';
const MODES = new Set(['100644', '100755', LINK]);
const MAX_LINK_BYTES = 4096;

export interface ChangeCheck {
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
  if (oldMode === SUBMODULE || newMode === SUBMODULE) throw policyViolation(path, 'submodules may not be changed');
  if (newMode !== ABSENT && !MODES.has(newMode)) throw policyViolation(path, `file mode ${newMode} is not allowed`);
  if (oldMode === ABSENT) assertNewPathAllowed(path);
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
