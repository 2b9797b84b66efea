import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Masker } from '../../lib/secrets/masker.ts';
import { validateChanges, type ValidatedChanges } from './change-policy.ts';
import { IMPORT_LIMITS, limitsAsViolation, policyViolation, type ImportLimits } from './import-limits.ts';
import { assertObjectId, isObjectId, lastErrorLine, zeroId } from '../process/git-output.ts';
import { candidatePath, createScratchRepo } from '../repository/scratch-repo.ts';
import { scanChanges, type Additions, type ChangeScan } from './scan-secrets.ts';
import { ABSENT, diffTrees, type RawChange } from '../objects/trees.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { git, gitFailure, gitText, tryGit } from '../process/git.ts';
import { defined } from '../../lib/guards.ts';

export interface ImportRequest {
  /** From `createScratch`. */
  scratchDir: string;
  /** The commit that the agent started from; in the mirror. */
  base: string;
  /** The id of the packed tree as reported by the exporter: hostile. */
  tree: string;
  /** A file with a thin pack of the objects of `tree` that `base` lacks: hostile. */
  packFile: string;
  limits?: Partial<ImportLimits>;
  /** Finds the secrets that must not land. */
  masker: Pick<Masker, 'scan'>;
  /** Whether the user allows what a rule for possible secrets finds in a file. */
  isAllowed?: ChangeScan['isAllowed'];
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
  const { scratchDir, base, tree, packFile, masker, onSecret, isAllowed = () => false, signal } = request;
  const limits = { ...IMPORT_LIMITS, ...request.limits };
  assertObjectId(base, 'The base commit');
  if (!isObjectId(tree) || tree.length !== base.length)
    throw policyViolation(undefined, 'it does not start with the id of a tree');
  const quarantine = join(scratchDir, 'quarantine.git');
  const candidate = candidatePath(scratchDir);
  await rm(quarantine, { recursive: true, force: true });
  await createScratchRepo(quarantine);
  const index = { gitDir: candidate, file: join(scratchDir, 'index'), signal };
  try {
    await allSettled([receivePack({ quarantine, packFile, limits, signal }), readBaseIndex(index, base)]);
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
    const search = { gitDir: quarantine, changes, masker, onSecret, isAllowed, timeoutMs: limits.timeMs, signal };
    const additions = await scanChanges(search);
    await allSettled([copyBlobs({ from: quarantine, to: candidate, blobs, signal }), updateIndex(index, changes)]);
    const made = await writeTree(index, tree);
    return { tree: made, changed: changes.map(toFileChange), large, ...additions };
  } finally {
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

/** Small windows, so that the mirror's packs fit into the limited address space. */
const SMALL_WINDOWS = ['-c', 'core.packedGitWindowSize=16m', '-c', 'core.packedGitLimit=128m'];
const MEMORY_BYTES = 3 * 1024 * 1024 * 1024;
const HOST_FAULT =
  /No space left|quota exceeded|Permission denied|Read-only file system|Too many open files|Input\/output error/i;

interface PackReceipt {
  quarantine: string;
  packFile: string;
  limits: { packBytes: number; timeMs: number };
  signal: AbortSignal | undefined;
}

/**
 * Stores and checks a hostile thin pack. Throws POLICY_VIOLATION when git rejects it or is killed, GIT_FAILED or
 * DISK_FAILED when the host is the cause, the error of the system if the file cannot be opened, and RUN_ABORTED on the
 * signal.
 */
async function receivePack({ quarantine, packFile, limits, signal }: PackReceipt): Promise<void> {
  await (await open(packFile)).close();
  const args = ['index-pack', '--stdin', '--strict', '--fix-thin', `--max-input-size=${limits.packBytes}`];
  const outcome = await tryGit([...SMALL_WINDOWS, ...args], {
    gitDir: quarantine,
    input: { file: packFile },
    timeoutMs: limits.timeMs,
    memoryBytes: MEMORY_BYTES,
    ...defined({ signal }),
  });
  if (outcome.exitCode === 0) return;
  if (outcome.ended === 'aborted') throw new HaloError('RUN_ABORTED', 'The import was cancelled.');
  if (outcome.ended === 'timeout')
    throw policyViolation(undefined, `its pack took longer than ${limits.timeMs} ms to check`);
  const words = lastErrorLine(outcome.stderr) ?? 'git could not read its pack';
  if (outcome.isLost || HOST_FAULT.test(words)) throw gitFailure(`git index-pack failed in ${quarantine}: ${words}`);
  throw policyViolation(undefined, `git does not accept its pack (${words})`);
}

interface BlobCopy {
  from: string;
  to: string;
  blobs: string[];
  signal: AbortSignal | undefined;
}

/**
 * Copies blobs, and nothing else, from the quarantine; blobs that the mirror already has are skipped. Git has checked them
 * in the quarantine, so that it can write the pack where it belongs.
 */
async function copyBlobs({ from, to, blobs, signal }: BlobCopy): Promise<void> {
  if (blobs.length === 0) return;
  // No delta compression: these packs live for one attempt.
  const args = ['-c', 'pack.compression=1', 'pack-objects', '--quiet', '--local', '--window=0', '--non-empty'];
  const pack = join(to, 'objects', 'pack', 'pack');
  await git([...args, pack], { gitDir: from, input: `${blobs.join('\n')}\n`, ...defined({ signal }) });
}

/** A private index file of the candidate repository. */
interface PrivateIndex {
  gitDir: string;
  file: string;
  signal: AbortSignal | undefined;
}

async function readBaseIndex(index: PrivateIndex, base: string): Promise<void> {
  await git(['read-tree', base], optionsOf(index));
}

async function updateIndex(index: PrivateIndex, changes: RawChange[]): Promise<void> {
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

/**
 * Writes the trees of the index. update-index silently skips invalid paths, so the result is compared with the packed tree.
 */
async function writeTree(index: PrivateIndex, expected: string): Promise<string> {
  const made = await gitText(['write-tree'], optionsOf(index));
  if (made === expected) return made;
  throw policyViolation(undefined, `its tree ${expected} differs from the tree built from its files (${made})`);
}

function optionsOf({ gitDir, file, signal }: PrivateIndex) {
  return { gitDir, env: { GIT_INDEX_FILE: file }, ...defined({ signal }) };
}
