import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Masker } from '../../lib/secrets/masker.ts';
import { checkChanges } from '../change-policy.ts';
import { IMPORT_LIMITS, type ImportLimits } from './import-limits.ts';
import { assertObjectId, isObjectId } from '../process/object-id.ts';
import { receivePack } from './quarantine.ts';
import { moveBlobs, readBaseIndex, updateIndex, writeTree } from './build-tree.ts';
import { candidatePath, makeBesideView } from '../repository/scratch-repo.ts';
import { searchChanges, type Additions, type ChangeSearch } from './scan-secrets.ts';
import { ABSENT, diffTrees, type RawChange } from '../objects/tree-diff.ts';
import { blameStory, violation } from '../violation.ts';

export interface ImportRequest {
  /** From `createScratch`. */
  scratchDir: string;
  /** The commit that the agent started from; in the mirror. */
  base: string;
  /** The exporter's word for the tree it packed: hostile. */
  tree: string;
  /** The objects of `tree` that `base` lacks, thin: hostile. Drained to its end in any case. */
  pack: Readable;
  limits?: Partial<ImportLimits>;
  /** Knows what must not land. */
  masker: Pick<Masker, 'scan'>;
  onSecret?: ChangeSearch['onSecret'];
  signal?: AbortSignal;
}

export interface Change {
  path: string;
  change: 'add' | 'update' | 'delete';
  /** `100644`, `100755` or `120000`; what it was before when deleted. */
  mode: string;
}

export interface Imported {
  tree: string;
  changed: Change[];
  /** What was added that a person should know. */
  suspects: Additions['suspects'];
  hidden: Additions['hidden'];
}

/**
 * Takes an agent's tree over into the candidate repository: only blobs cross, after every path, mode and
 * size was checked, and the host builds the trees itself. Throws POLICY_VIOLATION for anything hostile or
 * malformed; the mirror is never written, and no rejected path is ever in a tree of the candidate.
 */
export function importTree(request: ImportRequest): Promise<Imported> {
  return blameStory(() => importChecked(request));
}

async function importChecked(request: ImportRequest): Promise<Imported> {
  const { scratchDir, base, tree, pack, masker, onSecret, signal } = request;
  const limits = { ...IMPORT_LIMITS, ...request.limits };
  assertObjectId(base, 'The base commit');
  pack.on('error', () => undefined); // it may break before git reads it; receivePack looks at `errored`
  if (!isObjectId(tree) || tree.length !== base.length) {
    pack.resume();
    throw violation(undefined, 'it does not start with the id of a tree');
  }
  const quarantine = join(scratchDir, 'quarantine.git');
  const candidate = candidatePath(scratchDir);
  await rm(quarantine, { recursive: true, force: true });
  await makeBesideView(quarantine);
  const index = { gitDir: candidate, file: join(scratchDir, 'index'), signal };
  try {
    await allSettled([receivePack({ quarantine, pack, limits, signal }), readBaseIndex(index, base)]);
    const changes = await diffTrees({
      gitDir: quarantine,
      from: base,
      to: tree,
      maxEntries: limits.entries,
      timeoutMs: limits.timeMs,
      signal,
    });
    const blobs = await checkChanges({ gitDir: quarantine, base, tree, changes, limits, signal });
    // After the sizes are known.
    const search = { gitDir: quarantine, changes, masker, onSecret, timeoutMs: limits.timeMs, signal };
    const additions = await searchChanges(search);
    await allSettled([moveBlobs({ from: quarantine, to: candidate, blobs, signal }), updateIndex(index, changes)]);
    await writeTree(index, tree);
    return { tree, changed: changes.map(describeChange), ...additions };
  } finally {
    pack.resume();
    await rm(quarantine, { recursive: true, force: true });
    await rm(index.file, { force: true });
  }
}

/** Like Promise.all, but what failed is thrown only after everything ended: files may be removed then. */
async function allSettled(jobs: Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(jobs);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

export function describeChange({ oldMode, newMode, path }: RawChange): Change {
  if (newMode === ABSENT) return { path, change: 'delete', mode: oldMode };
  return { path, change: oldMode === ABSENT ? 'add' : 'update', mode: newMode };
}
