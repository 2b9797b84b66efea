import { git, gitStream, gitText } from '../process/git.ts';
import { zeroId } from '../process/object-id.ts';
import { ABSENT, type RawChange } from '../objects/tree-diff.ts';
import { policyViolation } from './policy-violation.ts';
import { defined } from '../../lib/guards.ts';

export interface BlobCopy {
  from: string;
  to: string;
  blobs: string[];
  signal: AbortSignal | undefined;
}

/** Copies blobs, and nothing else, from the quarantine; blobs that the mirror already has are skipped. */
export async function copyBlobs({ from, to, blobs, signal }: BlobCopy): Promise<void> {
  if (blobs.length === 0) return;
  const stoppable = defined({ signal });
  // No delta compression: these packs live for one attempt.
  const args = ['-c', 'pack.compression=1', 'pack-objects', '--stdout', '--quiet', '--local', '--window=0'];
  const pack = await gitStream(args, { gitDir: from, input: `${blobs.join('\n')}\n`, ...stoppable });
  const stored = git(['index-pack', '--stdin', '--strict'], { gitDir: to, input: pack.stdout, ...stoppable });
  await Promise.all([pack.done, stored]);
}

/** A private index file of the candidate repository. */
export interface PrivateIndex {
  gitDir: string;
  file: string;
  signal: AbortSignal | undefined;
}

export async function readBaseIndex(index: PrivateIndex, base: string): Promise<void> {
  await git(['read-tree', base], optionsOf(index));
}

export async function updateIndex(index: PrivateIndex, changes: RawChange[]): Promise<void> {
  if (changes.length === 0) return;
  const gone = changes.filter((change) => change.newMode === ABSENT);
  const kept = changes.filter((change) => change.newMode !== ABSENT);
  // Deletions first: a file may become a folder, and vice versa.
  const lines = [
    ...gone.map(({ newId, path }) => `0 ${zeroId(newId)}\t${path}\0`),
    ...kept.map(({ newMode, newId, path }) => `${newMode} ${newId}\t${path}\0`),
  ];
  await git(['update-index', '-z', '--index-info'], { ...optionsOf(index), input: lines.join('') });
}

/** Writes the trees of the index. update-index silently skips invalid paths, so the result is compared. */
export async function writeTree(index: PrivateIndex, expected: string): Promise<void> {
  const made = await gitText(['write-tree'], optionsOf(index));
  if (made === expected) return;
  throw policyViolation(undefined, `its tree ${expected} differs from the tree built from its files (${made})`);
}

function optionsOf({ gitDir, file, signal }: PrivateIndex) {
  return { gitDir, env: { GIT_INDEX_FILE: file }, ...defined({ signal }) };
}
