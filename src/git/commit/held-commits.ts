import { mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { pathExists, syncPath, writeAtomic } from '../../lib/fs.ts';
import { processMark } from '../../lib/process-identity.ts';
import { IMPORT_LIMITS } from '../import/import-limits.ts';
import { toFileChange, type FileChange } from '../import/import-tree.ts';
import { setRef } from '../land/land-commit.ts';
import { readMirrorFormat } from '../mirror/mirror.ts';
import { sendCommit } from '../mirror/send-commit.ts';
import { statObjects } from '../objects/read-objects.ts';
import { diffTrees } from '../objects/trees.ts';
import { assertObjectId } from '../process/git-output.ts';
import { git, gitText } from '../process/git.ts';
import { initBareRepo } from '../repository/init-repo.ts';
import { readParent } from './read-commits.ts';

/** Path from the objects folder of the held repository to that of the mirror. */
const MIRROR_OBJECTS = '../../mirror.git/objects';

/**
 * Opens or creates the repository next to a mirror that stores commits waiting for approval; it also reads the objects of
 * the mirror. It is not part of the mirror because sandboxes see the mirror, and agents of other runs must not see
 * unapproved work. Returns its path.
 */
export async function openHeldRepository(mirrorDir: string): Promise<string> {
  const dir = join(dirname(mirrorDir), 'held.git');
  const { config, shallow } = await readMirrorFormat(mirrorDir);
  if (!(await pathExists(dir))) {
    const aside = await mkdtemp(`${dir}.new-${processMark()}-`);
    await initBareRepo(aside, { config, alternate: MIRROR_OBJECTS, durable: true });
    await rename(aside, dir).catch(async (error: unknown) => {
      await rm(aside, { recursive: true, force: true });
      if (!(await pathExists(dir))) throw error;
    });
    await syncPath(dirname(dir));
  } else if (!(await isRepository(dir, config))) {
    // Rewrites only HEAD, config and alternates; refs and objects stay.
    await initBareRepo(dir, { config, alternate: MIRROR_OBJECTS, durable: true });
  }
  // The shallow boundary of the mirror may have changed.
  if (shallow !== undefined) await writeAtomic(join(dir, 'shallow'), shallow, true);
  return dir;
}

/** Whether the files are intact that git needs to recognize the folder as a repository with its history. */
async function isRepository(dir: string, config: string): Promise<boolean> {
  const read = (name: string) => readFile(join(dir, name), 'utf8').catch(() => '');
  const [head, found, alternate] = await Promise.all(['HEAD', 'config', 'objects/info/alternates'].map(read));
  return head?.startsWith('ref: ') === true && found === config && alternate === `${MIRROR_OBJECTS}\n`;
}

interface HoldRequest {
  candidateDir: string;
  mirrorDir: string;
  runId: string;
  storyKey: string;
  commit: string;
}

/** Stores a commit that waits for approval in the held repository, where it outlives its attempt. No branch points to it. */
export async function holdCommit({ candidateDir, mirrorDir, runId, storyKey, commit }: HoldRequest): Promise<void> {
  assertObjectId(commit, 'The commit');
  const heldDir = await openHeldRepository(mirrorDir);
  await sendCommit({ from: candidateDir, stores: [heldDir], commit });
  await setRef(heldDir, heldRef(runId, storyKey), commit);
}

/** Deletes the ref of a held commit; safe to repeat, also after retention has removed the mirror. */
export async function releaseHeldCommit(mirrorDir: string, runId: string, storyKey: string): Promise<void> {
  if (await pathExists(mirrorDir)) await deleteRef(await openHeldRepository(mirrorDir), heldRef(runId, storyKey));
}

/** The same for all stories of a run. */
export async function releaseHeldCommits(mirrorDir: string, runId: string): Promise<void> {
  if (!(await pathExists(mirrorDir))) return;
  const gitDir = await openHeldRepository(mirrorDir);
  const args = ['for-each-ref', '--format=%(refname)', dirname(heldRef(runId, 'any'))];
  for (const ref of (await gitText(args, { gitDir })).split('\n')) if (ref !== '') await deleteRef(gitDir, ref);
}

async function deleteRef(gitDir: string, ref: string): Promise<void> {
  await git(['update-ref', '--no-deref', '-d', ref], { gitDir });
}

/** Returns the parent, tree and changed files of a held commit. Throws GIT_FAILED when it does not exist. */
export async function readHeldCommit(
  gitDir: string,
  commit: string,
): Promise<{ parent: string; tree: string; changed: FileChange[] }> {
  const parent = await readParent(gitDir, commit);
  const tree = await gitText(['rev-parse', '--verify', '--end-of-options', `${commit}^{tree}`], { gitDir });
  const { entries: maxEntries, timeMs: timeoutMs } = IMPORT_LIMITS;
  const changes = await diffTrees({ gitDir, from: parent, to: commit, maxEntries, timeoutMs });
  return { parent, tree, changed: changes.map(toFileChange) };
}

function heldRef(runId: string, storyKey: string): string {
  if (![runId, storyKey].every((name) => /^[a-z0-9][a-z0-9-]*$/.test(name))) {
    throw new HaloError('INTERNAL', 'The held commit has no name.');
  }
  return `refs/halo/held/${runId}/${storyKey}`;
}

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
