import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { checkChanges } from '../change-policy.ts';
import { lastWords, tryGit } from '../process/git.ts';
import { IMPORT_LIMITS } from '../import/import-limits.ts';
import { describeChange, type Change } from '../import/import-tree.ts';
import { assertObjectId, isObjectId } from '../process/object-id.ts';
import { diffTrees } from '../objects/tree-diff.ts';
import { blameStory, violation } from '../violation.ts';

export interface MergeRequest {
  /** Receives the objects of the merge; it sees both commits. */
  candidateDir: string;
  /** Its parent is an ancestor of `onto`. */
  commit: string;
  onto: string;
  signal?: AbortSignal;
}

/** `changed` is what the merged tree changes of `onto`; `paths` are those that both sides changed otherwise. */
export type Merged = { kind: 'clean'; tree: string; changed: Change[] } | { kind: 'conflict'; paths: string[] };

const OUT_OF_MEMORY = /out of memory|malloc failed|cannot allocate memory/i;
const MEMORY_BYTES = 3 * 1024 * 1024 * 1024;

/**
 * Merges the change of a commit onto another commit, tree by tree: no checkout, no attribute of either side, no
 * program but git's own. What comes of it is held to the same rules as what an agent brings.
 * Throws POLICY_VIOLATION, GIT_FAILED, RUN_ABORTED.
 */
export function mergeOnto(request: MergeRequest): Promise<Merged> {
  return blameStory(() => mergeChecked(request));
}

async function mergeChecked({ candidateDir, commit, onto, signal }: MergeRequest): Promise<Merged> {
  assertObjectId(commit, 'The commit to merge');
  assertObjectId(onto, 'The commit to merge onto');
  await ignoreAttributes(candidateDir);
  // Whole folders that follow a rename would put files where nobody put them.
  const args = ['-c', 'merge.directoryRenames=false', 'merge-tree', '--write-tree', '-z', '--name-only'];
  const { timeMs } = IMPORT_LIMITS;
  const outcome = await tryGit([...args, '--no-messages', onto, commit], {
    gitDir: candidateDir,
    timeoutMs: timeMs,
    memoryBytes: MEMORY_BYTES,
    ...(signal === undefined ? {} : { signal }),
  });
  const [tree = '', ...paths] = outcome.stdout.toString('utf8').split('\0').filter(Boolean);
  if (outcome.ended === 'aborted') throw new HaloError('RUN_ABORTED', 'The merge was stopped on request.');
  if (outcome.ended !== 'exited' || OUT_OF_MEMORY.test(outcome.stderr))
    throw violation(
      undefined,
      'git cannot merge it with what landed meanwhile in the time and memory that halo allows',
    );
  if (!isObjectId(tree)) throw cannotMerge(candidateDir, outcome.stderr);
  if (outcome.exitCode !== 0) return { kind: 'conflict', paths: [...new Set(paths)] };
  const limits = IMPORT_LIMITS;
  const diff = { gitDir: candidateDir, from: onto, to: tree, maxEntries: limits.entries, timeoutMs: timeMs, signal };
  const changes = await diffTrees(diff);
  await checkChanges({ gitDir: candidateDir, base: onto, tree, changes, limits, signal });
  return { kind: 'clean', tree, changed: changes.map(describeChange) };
}

/** Newer versions of git look into the tree for attributes, which would choose how a file is merged. */
async function ignoreAttributes(gitDir: string): Promise<void> {
  await mkdir(join(gitDir, 'info'), { recursive: true });
  await writeFile(join(gitDir, 'info', 'attributes'), '* !merge !text !eol !filter !ident !working-tree-encoding\n');
}

function cannotMerge(gitDir: string, stderr: string): HaloError {
  return new HaloError('GIT_FAILED', `git merge-tree failed in ${gitDir}: ${lastWords(stderr) ?? 'no reason given'}`, {
    hint: 'Stories that meet others need git 2.38 or newer: `halo doctor` checks it. With run.parallel = 1 an older one does.',
  });
}
