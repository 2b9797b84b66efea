import { HaloError } from '../core/errors.ts';
import { git, gitText } from './git.ts';
import { IMPORT_LIMITS } from './import-limits.ts';
import { describeChange, type Change } from './import.ts';
import { setRef } from './land.ts';
import { assertObjectId, isObjectId } from './object-id.ts';
import { sendCommit } from './send-commit.ts';
import { diffTrees } from './tree-diff.ts';

export interface HoldRequest {
  candidateDir: string;
  mirrorDir: string;
  runId: string;
  storyKey: string;
  commit: string;
}

/** Keeps a commit that a person must look at in the mirror, where it outlives its attempt; no branch has it. */
export async function holdCommit({ candidateDir, mirrorDir, runId, storyKey, commit }: HoldRequest): Promise<void> {
  assertObjectId(commit, 'The commit');
  await sendCommit({ from: candidateDir, stores: [mirrorDir], commit });
  await setRef(mirrorDir, heldRef(runId, storyKey), commit);
}

/** Forgets a held commit; safe to repeat. */
export async function releaseCommit(mirrorDir: string, runId: string, storyKey: string): Promise<void> {
  await git(['update-ref', '--no-deref', '-d', heldRef(runId, storyKey)], { gitDir: mirrorDir });
}

/** The commit that a commit builds on. Throws GIT_FAILED when it is not there. */
export async function parentOf(gitDir: string, commit: string): Promise<string> {
  assertObjectId(commit, 'The commit');
  return gitText(['rev-parse', '--verify', '--end-of-options', `${commit}^1`], { gitDir });
}

/** All commits that a commit builds on. Throws GIT_FAILED when it is not there. */
export async function parentsOf(gitDir: string, commit: string): Promise<string[]> {
  assertObjectId(commit, 'The commit');
  const parents = await gitText(['rev-parse', '--end-of-options', `${commit}^@`], { gitDir });
  return parents.split('\n').filter((line) => isObjectId(line));
}

/** What a held commit changes of which commit. Throws GIT_FAILED when it is not there. */
export async function readHeld(
  gitDir: string,
  commit: string,
): Promise<{ parent: string; tree: string; changed: Change[] }> {
  const parent = await parentOf(gitDir, commit);
  const tree = await gitText(['rev-parse', '--verify', '--end-of-options', `${commit}^{tree}`], { gitDir });
  const { entries: maxEntries, timeMs: timeoutMs } = IMPORT_LIMITS;
  const changes = await diffTrees({ gitDir, from: parent, to: commit, maxEntries, timeoutMs });
  return { parent, tree, changed: changes.map(describeChange) };
}

function heldRef(runId: string, storyKey: string): string {
  if (![runId, storyKey].every((name) => /^[a-z0-9][a-z0-9-]*$/.test(name))) {
    throw new HaloError('INTERNAL', 'The held commit has no name.');
  }
  return `refs/halo/held/${runId}/${storyKey}`;
}
