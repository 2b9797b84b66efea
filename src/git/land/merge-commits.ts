import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createFolders } from '../../lib/fs.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { validateChanges } from '../import/change-policy.ts';
import { tryGit } from '../process/git.ts';
import { assertObjectId, isObjectId, lastErrorLine } from '../process/git-output.ts';
import { IMPORT_LIMITS, limitsAsViolation, policyViolation } from '../import/import-limits.ts';
import { toFileChange, type FileChange } from '../import/import-tree.ts';
import { diffTrees } from '../objects/trees.ts';
import { defined } from '../../lib/guards.ts';

interface MergeRequest {
  /** Receives the objects of the merge; it sees both commits. */
  candidateDir: string;
  /** Its parent is an ancestor of `onto`. */
  commit: string;
  onto: string;
  signal?: AbortSignal;
}

/** `changed`: differences of the merged tree from `onto`; `paths`: files with conflicting changes. */
type MergeResult = { kind: 'clean'; tree: string; changed: FileChange[] } | { kind: 'conflict'; paths: string[] };

const OUT_OF_MEMORY = /out of memory|malloc failed|cannot allocate memory/i;
const MEMORY_BYTES = 3 * 1024 * 1024 * 1024;

/**
 * Merges the change of a commit onto another commit without a checkout, and without attributes or merge programs of
 * either side. The result must pass the same rules as an agent's result.
 * Throws POLICY_VIOLATION, GIT_FAILED, RUN_ABORTED.
 */
export function mergeOnto(request: MergeRequest): Promise<MergeResult> {
  return limitsAsViolation(() => mergeChecked(request));
}

async function mergeChecked({ candidateDir, commit, onto, signal }: MergeRequest): Promise<MergeResult> {
  assertObjectId(commit, 'The commit to merge');
  assertObjectId(onto, 'The commit to merge onto');
  await ignoreAttributes(candidateDir);
  // Directory rename detection would put files where neither side put them.
  const args = ['-c', 'merge.directoryRenames=false', 'merge-tree', '--write-tree', '-z', '--name-only'];
  const { timeMs } = IMPORT_LIMITS;
  const outcome = await tryGit([...args, '--no-messages', onto, commit], {
    gitDir: candidateDir,
    timeoutMs: timeMs,
    memoryBytes: MEMORY_BYTES,
    ...defined({ signal }),
  });
  const [tree = '', ...paths] = outcome.stdout.toString('utf8').split('\0').filter(Boolean);
  if (outcome.ended === 'aborted') throw new HaloError('RUN_ABORTED', 'The merge was cancelled.');
  if (outcome.ended !== 'exited' || OUT_OF_MEMORY.test(outcome.stderr))
    throw policyViolation(
      undefined,
      'git cannot merge it with the commits that landed since within the limits of time and memory',
    );
  if (!isObjectId(tree)) throw cannotMerge(candidateDir, outcome.stderr);
  if (outcome.exitCode !== 0) return { kind: 'conflict', paths: [...new Set(paths)] };
  const limits = IMPORT_LIMITS;
  const diff = { gitDir: candidateDir, from: onto, to: tree, maxEntries: limits.entries, timeoutMs: timeMs, signal };
  const changes = await diffTrees(diff);
  await validateChanges({ gitDir: candidateDir, base: onto, tree, changes, limits, signal });
  return { kind: 'clean', tree, changed: changes.map(toFileChange) };
}

/** Newer versions of git read attributes from the tree, which would select how a file is merged. */
async function ignoreAttributes(gitDir: string): Promise<void> {
  await createFolders(join(gitDir, 'info'));
  await writeFile(join(gitDir, 'info', 'attributes'), '* !merge !text !eol !filter !ident !working-tree-encoding\n');
}

function cannotMerge(gitDir: string, stderr: string): HaloError {
  return new HaloError(
    'GIT_FAILED',
    `git merge-tree failed in ${gitDir}: ${lastErrorLine(stderr) ?? 'no reason given'}`,
    {
      hint: 'Install git 2.38 or newer on the machine of the worker; `halo doctor` checks it. A new run with run.parallel = 1 needs no merges.',
    },
  );
}
