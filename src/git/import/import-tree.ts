import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Masker } from '../../lib/secrets/masker.ts';
import { validateChanges, type ValidatedChanges } from './change-policy.ts';
import { IMPORT_LIMITS, type ImportLimits } from './import-limits.ts';
import { assertObjectId, isObjectId } from '../process/object-id.ts';
import { receivePack } from './quarantine.ts';
import { copyBlobs, readBaseIndex, updateIndex, writeTree } from './build-tree.ts';
import { candidatePath, createScratchRepo } from '../repository/scratch-repo.ts';
import { scanChanges, type Additions, type ChangeScan } from './scan-secrets.ts';
import { ABSENT, diffTrees, type RawChange } from '../objects/tree-diff.ts';
import { limitsAsViolation, policyViolation } from './policy-violation.ts';

export interface ImportRequest {
  /** From `createScratch`. */
  scratchDir: string;
  /** The commit that the agent started from; in the mirror. */
  base: string;
  /** The id of the packed tree as reported by the exporter: hostile. */
  tree: string;
  /** A thin pack with the objects of `tree` that `base` lacks: hostile. Always read to its end. */
  pack: Readable;
  limits?: Partial<ImportLimits>;
  /** Finds the secrets that must not land. */
  masker: Pick<Masker, 'scan'>;
  onSecret?: ChangeScan['onSecret'];
  signal?: AbortSignal;
}

export interface FileChange {
  path: string;
  change: 'add' | 'update' | 'delete';
  /** `100644`, `100755` or `120000`; the former mode of a deleted file. */
  mode: string;
}

export interface ImportResult {
  tree: string;
  changed: FileChange[];
  /** What looks like a secret, for a person to check. */
  suspects: Additions['suspects'];
  hidden: Additions['hidden'];
  large: ValidatedChanges['large'];
}

/**
 * Imports an agent's tree into the candidate repository. Only blobs are copied, after every path, mode and size was
 * checked; the host builds the trees itself. The mirror is never written, and a rejected path never gets into a tree of
 * the candidate. Throws POLICY_VIOLATION for anything hostile or malformed.
 */
export function importTree(request: ImportRequest): Promise<ImportResult> {
  return limitsAsViolation(() => importChecked(request));
}

async function importChecked(request: ImportRequest): Promise<ImportResult> {
  const { scratchDir, base, tree, pack, masker, onSecret, signal } = request;
  const limits = { ...IMPORT_LIMITS, ...request.limits };
  assertObjectId(base, 'The base commit');
  pack.on('error', () => undefined); // it may fail before git reads it; receivePack checks `errored`
  if (!isObjectId(tree) || tree.length !== base.length) {
    pack.resume();
    throw policyViolation(undefined, 'it does not start with the id of a tree');
  }
  const quarantine = join(scratchDir, 'quarantine.git');
  const candidate = candidatePath(scratchDir);
  await rm(quarantine, { recursive: true, force: true });
  await createScratchRepo(quarantine);
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
    const { blobs, large } = await validateChanges({ gitDir: quarantine, base, tree, changes, limits, signal });
    // After the sizes are known.
    const search = { gitDir: quarantine, changes, masker, onSecret, timeoutMs: limits.timeMs, signal };
    const additions = await scanChanges(search);
    await allSettled([copyBlobs({ from: quarantine, to: candidate, blobs, signal }), updateIndex(index, changes)]);
    await writeTree(index, tree);
    return { tree, changed: changes.map(toFileChange), large, ...additions };
  } finally {
    pack.resume();
    await rm(quarantine, { recursive: true, force: true });
    await rm(index.file, { force: true });
  }
}

/** Like Promise.all, but rejects only after everything settled, so that files can be removed safely. */
async function allSettled(jobs: Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(jobs);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

export function toFileChange({ oldMode, newMode, path }: RawChange): FileChange {
  if (newMode === ABSENT) return { path, change: 'delete', mode: oldMode };
  return { path, change: oldMode === ABSENT ? 'add' : 'update', mode: newMode };
}
