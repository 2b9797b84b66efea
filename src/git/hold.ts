import { mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HaloError } from '../core/failure/errors.ts';
import { syncPath, writeAtomic } from '../lib/atomic-write.ts';
import { markProcess } from '../lib/process-identity.ts';
import { makeBareRepo } from './repository/init-repo.ts';
import { git, gitText } from './process/git.ts';
import { IMPORT_LIMITS } from './import/import-limits.ts';
import { describeChange, type Change } from './import/import-tree.ts';
import { setRef } from './land/land-commit.ts';
import { mirrorShape } from './mirror/mirror.ts';
import { assertObjectId, isObjectId } from './process/object-id.ts';
import { sendCommit } from './mirror/send-commit.ts';
import { diffTrees } from './objects/tree-diff.ts';

/** From the objects folder of the store of held commits to that of the mirror beside it. */
const MIRROR_OBJECTS = '../../mirror.git/objects';

/**
 * The repository beside a mirror in which commits wait for a person; it reads what the mirror has as well. Sandboxes see
 * the mirror, and not this: what nobody has let through is not for the agents of other runs.
 */
export async function openHeld(mirrorDir: string): Promise<string> {
  const dir = join(dirname(mirrorDir), 'held.git');
  const { config, shallow } = await mirrorShape(mirrorDir);
  if (!(await isFolder(dir))) {
    const aside = await mkdtemp(`${dir}.new-${markProcess()}-`);
    await makeBareRepo(aside, { config, alternate: MIRROR_OBJECTS, durable: true });
    await rename(aside, dir).catch(async (error: unknown) => {
      await rm(aside, { recursive: true, force: true });
      if (!(await isFolder(dir))) throw error;
    });
    await syncPath(dirname(dir));
  } else if (!(await isRepository(dir, config))) {
    // What is in them is known; refs and objects stay as they are.
    await makeBareRepo(dir, { config, alternate: MIRROR_OBJECTS, durable: true });
  }
  // The mirror's history may have got another end since.
  if (shallow !== undefined) await writeAtomic(join(dir, 'shallow'), shallow, true);
  return dir;
}

/** Whether the files are whole without which git takes the folder for no repository, or for one without its history. */
async function isRepository(dir: string, config: string): Promise<boolean> {
  const read = (name: string) => readFile(join(dir, name), 'utf8').catch(() => '');
  const [head, found, alternate] = await Promise.all(['HEAD', 'config', 'objects/info/alternates'].map(read));
  return head?.startsWith('ref: ') === true && found === config && alternate === `${MIRROR_OBJECTS}\n`;
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

export interface HoldRequest {
  candidateDir: string;
  mirrorDir: string;
  runId: string;
  storyKey: string;
  commit: string;
}

/** Keeps a commit that a person must look at beside the mirror, where it outlives its attempt; no branch has it. */
export async function holdCommit({ candidateDir, mirrorDir, runId, storyKey, commit }: HoldRequest): Promise<void> {
  assertObjectId(commit, 'The commit');
  const heldDir = await openHeld(mirrorDir);
  await sendCommit({ from: candidateDir, stores: [heldDir], commit });
  await setRef(heldDir, heldRef(runId, storyKey), commit);
}

/** Forgets a held commit; safe to repeat. */
export async function releaseCommit(mirrorDir: string, runId: string, storyKey: string): Promise<void> {
  // An older halo kept it in the mirror itself.
  for (const gitDir of [await openHeld(mirrorDir), mirrorDir])
    await git(['update-ref', '--no-deref', '-d', heldRef(runId, storyKey)], { gitDir });
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
