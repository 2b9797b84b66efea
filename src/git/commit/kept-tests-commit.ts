import { HaloError } from '../../core/failure/errors.ts';
import { setRef } from '../land/land-commit.ts';
import { sendCommit } from '../mirror/send-commit.ts';
import { statObjects } from '../objects/read-objects.ts';
import { assertObjectId } from '../process/object-id.ts';
import { openHeldRepository, type HoldRequest } from './held-commits.ts';

/** Stores the commit with the tests of a story in the held repository, where it outlives its attempt. */
export async function keepTests({ candidateDir, mirrorDir, runId, storyKey, commit }: HoldRequest): Promise<void> {
  assertObjectId(commit, 'The commit of the tests');
  const heldDir = await openHeldRepository(mirrorDir);
  await sendCommit({ from: candidateDir, stores: [heldDir], commit });
  await setRef(heldDir, testsRef(runId, storyKey), commit);
}

/** Whether the held repository has the commit. */
export async function hasKeptTests(mirrorDir: string, commit: string): Promise<boolean> {
  assertObjectId(commit, 'The commit of the tests');
  const facts = await statObjects(await openHeldRepository(mirrorDir), [commit]);
  return facts.get(commit)?.type === 'commit';
}

/** Copies the commit into the repository of an attempt, which must have its parent. Throws GIT_FAILED. */
export async function fetchKeptTests(mirrorDir: string, candidateDir: string, commit: string): Promise<void> {
  await sendCommit({ from: await openHeldRepository(mirrorDir), stores: [candidateDir], commit });
}

function testsRef(runId: string, storyKey: string): string {
  if (![runId, storyKey].every((name) => /^[a-z0-9][a-z0-9-]*$/.test(name)))
    throw new HaloError('INTERNAL', 'The commit of the tests has no name.');
  return `refs/halo/tests/${runId}/${storyKey}`;
}
