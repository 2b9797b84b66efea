import { refuseCollisions } from './import/case-collisions.ts';
import { refuseEmbedded } from './import/embedded-repositories.ts';
import type { ImportLimits } from './import/import-limits.ts';
import { readObjects, statObjects } from './objects/read-objects.ts';
import { checkChangedPath, checkLink, checkNewPath } from './path-policy.ts';
import { ABSENT, type RawChange } from './objects/tree-diff.ts';
import { violation } from './violation.ts';

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

/** Checks paths, modes, sizes, links and collisions. Gives the ids of the new blobs. Throws POLICY_VIOLATION. */
export async function checkChanges(check: ChangeCheck): Promise<string[]> {
  const { gitDir, base, tree, changes, signal } = check;
  for (const change of changes) checkEntry(change);
  const added = changes.filter((change) => change.oldMode === ABSENT).map((change) => change.path);
  const [blobs] = await Promise.all([
    checkBlobs(check),
    added.length === 0 ? undefined : refuseCollisions({ gitDir, base, tree, added, signal }),
    refuseEmbedded({ gitDir, base, tree, changes, signal }),
  ]);
  await checkLinks(check);
  return blobs;
}

function checkEntry({ oldMode, newMode, path }: RawChange): void {
  checkChangedPath(path);
  if (oldMode === SUBMODULE || newMode === SUBMODULE) throw violation(path, 'submodules may not be changed');
  if (newMode !== ABSENT && !MODES.has(newMode)) throw violation(path, `file mode ${newMode} is not allowed`);
  if (oldMode === ABSENT) checkNewPath(path);
}

async function checkBlobs({ gitDir, changes, limits, signal }: ChangeCheck): Promise<string[]> {
  const present = changes.filter((change) => change.newMode !== ABSENT);
  const ids = [...new Set(present.map((change) => change.newId))];
  const facts = await statObjects(gitDir, ids, signal);
  let total = 0;
  for (const { newId, newMode, path } of present) {
    const found = facts.get(newId);
    if (found?.type !== 'blob') throw violation(path, 'its content is missing or not a file');
    if (found.size > limits.fileBytes) throw violation(path, `the file is larger than ${limits.fileBytes} bytes`);
    if (newMode === LINK && found.size > MAX_LINK_BYTES) throw violation(path, 'the symbolic link has no plain target');
    total += found.size;
    if (total > limits.totalBytes)
      throw violation(undefined, `its files are larger than ${limits.totalBytes} bytes together`);
  }
  return ids;
}

/** After the sizes are known: what is read here is small. */
async function checkLinks({ gitDir, changes, signal }: ChangeCheck): Promise<void> {
  const links = changes.filter((change) => change.newMode === LINK);
  const targets = await readObjects(
    gitDir,
    links.map((link) => link.newId),
    signal,
  );
  links.forEach((link, index) => checkLink(link.path, targets[index] ?? Buffer.alloc(0)));
}
