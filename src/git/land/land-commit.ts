import { access, constants, lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { printableShellWord } from '../../core/text/safe-text.ts';
import { ignore } from '../../lib/async.ts';
import { failpoint } from '../../lib/failpoint.ts';
import { readFolder } from '../../lib/fs.ts';
import { MESSAGE_LOG_ARGS, readTrailers, STORY_KEY_TRAILER, trailerValue } from '../commit/commit-message.ts';
import { extendView } from '../mirror/base-view.ts';
import { sendCommit } from '../mirror/send-commit.ts';
import { HALO_IDENTITY } from '../process/environment.ts';
import { assertObjectId, splitNul, zeroId } from '../process/git-output.ts';
import { git, tryGit } from '../process/git.ts';
import { releaseAbandonedLock, syncRef } from '../repository/sync-repository.ts';
import { listWorktrees } from '../repository/worktrees.ts';

export interface LandRequest {
  candidateDir: string;
  mirrorDir: string;
  /** The repository that receives the commit; the mirror itself when the source is an address. */
  hostGitDir: string;
  /** Full name, `refs/heads/halo/<runId>`. */
  ref: string;
  /** From `makeCommit`. */
  commit: string;
  /** The parent of the commit; given it, the view of the commit is created for the next story. */
  parent?: string;
  /** The commit that `ref` must point to; undefined when it must not exist yet. */
  expected: string | undefined;
}

/**
 * The slow part of landing: stores the objects durably and moves no ref. Both parts are safe to repeat. Returns a function
 * to call once the ref was moved or will not be: until then git keeps the unreferenced objects. Throws CONFLICT when the
 * ref is checked out.
 */
export async function transferCommit({
  candidateDir,
  ref,
  commit,
  parent,
  hostGitDir,
  mirrorDir,
}: Omit<LandRequest, 'expected'>): Promise<() => Promise<void>> {
  assertObjectId(commit, 'The commit');
  await failpoint('objects.before');
  await assertNotCheckedOut(hostGitDir, ref);
  const stores = [hostGitDir, mirrorDir];
  const { release, pack } = await sendCommit({ from: candidateDir, stores, commit, keepIn: hostGitDir });
  try {
    // If this fails, the next story creates the view.
    if (parent !== undefined) await extendView(mirrorDir, { commit, parent, pack }).catch(() => undefined);
    await failpoint('objects.after');
    return release;
  } catch (error) {
    await release();
    throw error;
  }
}

/**
 * The quick part: moves `ref` by compare-and-swap to a commit whose objects are stored. The move is durable when this
 * resolves. Throws CONFLICT when someone else moved it, and LAND_REFUSED when a branch name blocks it.
 */
export async function moveBranch(request: Omit<LandRequest, 'candidateDir' | 'parent'>): Promise<void> {
  const { ref, commit, expected } = request;
  assertObjectId(commit, 'The commit');
  if (expected !== undefined) assertObjectId(expected, 'The expected commit');
  if (!REF.test(ref)) throw new HaloError('INTERNAL', 'The ref is not one that halo may move.');
  const { hostGitDir, mirrorDir } = request;
  await failpoint('ref.before');
  await swapRef({ gitDir: hostGitDir, ref, commit, expected });
  await failpoint('ref.after');
  // Also updates a mirror that a worker left behind when it died between the two steps.
  if (mirrorDir !== hostGitDir) await setRef(mirrorDir, ref, commit);
  await failpoint('mirror.after');
}

const REF = /^refs\/heads\/halo\/[A-Za-z0-9][A-Za-z0-9_-]*$/;

async function assertNotCheckedOut(gitDir: string, ref: string): Promise<void> {
  if (!(await mayBeCheckedOut(gitDir, ref))) return;
  const holder = (await listWorktrees(gitDir)).find((worktree) => worktree.branch === ref);
  if (holder === undefined) return;
  const branch = ref.replace('refs/heads/', '');
  throw new HaloError(
    'CONFLICT',
    `The branch ${branch} is checked out in ${holder.path}; halo does not move it there.`,
    {
      hint: `Switch that checkout to another branch, then retry the story.`,
    },
  );
}

/** False if there is only one checkout and its HEAD is another branch, which takes no process of git to find out. */
async function mayBeCheckedOut(gitDir: string, ref: string): Promise<boolean> {
  if ((await readFolder(join(gitDir, 'worktrees'))).length > 0) return true;
  const path = join(gitDir, 'HEAD');
  // An old kind of HEAD is a link; git itself reports what is missing.
  const isFile = await lstat(path).then((found) => found.isFile(), ignore);
  const text = isFile === true ? await readFile(path, 'utf8').catch(ignore) : undefined;
  const branch = /^ref: (refs\/heads\/.+)\n$/.exec(text ?? '')?.[1];
  // With refs in tables, the file names no branch.
  return branch === undefined || branch === ref || branch === 'refs/heads/.invalid';
}

interface Swap {
  gitDir: string;
  ref: string;
  commit: string;
  expected: string | undefined;
}

async function swapRef(swap: Swap): Promise<void> {
  await compareAndSwap(swap);
  await syncRef(swap.gitDir, swap.ref);
}

async function compareAndSwap({ gitDir, ref, commit, expected }: Swap): Promise<void> {
  const args = ['update-ref', '--no-deref', '--create-reflog', '-m', 'halo: story landed'];
  const swap = [...args, ref, commit, expected ?? zeroId(commit)];
  const options = { gitDir, env: HALO_IDENTITY, durable: true };
  const moved = await tryGit(swap, options);
  if (moved.exitCode === 0) return;
  const now = await readRef(gitDir, ref);
  if (now === commit) return;
  if (now === expected) {
    await assertRunBranchesAllowed(gitDir);
    await releaseAbandonedLock(gitDir, ref);
    await git(swap, options); // if it was the disk, this throws git's error
  } else {
    const branch = ref.replace('refs/heads/', '');
    const was = expected?.slice(0, 12) ?? 'absent';
    throw new HaloError(
      'CONFLICT',
      `The branch ${branch} moved in ${gitDir}: expected ${was}, found ${now?.slice(0, 12) ?? 'nothing'}.`,
      {
        hint: 'Check which other process wrote to it. Nothing was overwritten.',
      },
    );
  }
}

/** Points one of halo's own refs at a commit, durably. */
export async function setRef(gitDir: string, ref: string, commit: string): Promise<void> {
  const update = ['update-ref', '--no-deref', ref, commit];
  const options = { gitDir, durable: true };
  if ((await tryGit(update, options)).exitCode !== 0) {
    await releaseAbandonedLock(gitDir, ref);
    await git(update, options);
  }
  await syncRef(gitDir, ref);
}

/** Returns the commit that a ref points to, or undefined. */
export async function readRef(gitDir: string, ref: string): Promise<string | undefined> {
  const args = ['rev-parse', '--quiet', '--verify', '--end-of-options', `${ref}^{commit}`];
  const found = await git(args, { gitDir, ok: [0, 1] });
  return found.exitCode === 0 ? found.stdout.toString('latin1').trim() : undefined;
}

interface LandedStory {
  id: string;
  key: string;
}

interface LandedQuery {
  hostGitDir: string;
  ref: string;
  /** The commit that the run started from. */
  base: string;
  runId: string;
  story: LandedStory;
  /** The other stories of the run, with their landed commits where known. */
  others: readonly (LandedStory & { commit?: string })[];
}

/** Finds the landed commit of a story by its trailers; undefined when there is none. */
export async function findLandedCommit(query: LandedQuery): Promise<string | undefined> {
  const { hostGitDir, ref, base, runId, story, others } = query;
  assertObjectId(base, 'The base commit');
  const tip = await readRef(hostGitDir, ref);
  if (tip === undefined) return undefined;
  const log = await git(['log', ...MESSAGE_LOG_ARGS, `${base}..${tip}`], { gitDir: hostGitDir });
  const taken = others.map(({ commit }) => commit);
  return splitNul(log.stdout)
    .map((entry) => ({ commit: entry.slice(0, tip.length), trailers: readTrailers(entry.slice(tip.length + 1)) }))
    .filter(({ commit }) => !taken.includes(commit))
    .find(
      ({ trailers }) =>
        trailers.get('Halo-Run') === trailerValue(runId) && trailers.get(STORY_KEY_TRAILER) === story.key,
    )?.commit;
}

/** Folders to which landing writes. Those that are missing are created. */
const FOLDERS = ['objects', 'objects/pack', 'refs/heads', 'refs/heads/halo'];

const REASONS: Record<string, string> = { EACCES: 'permission denied', EROFS: 'the file system is read-only' };

/** Throws DISK_FAILED if no commit can land in a repository: the work of an agent would be lost. */
export async function assertWritable(gitDir: string): Promise<void> {
  for (const path of FOLDERS.map((folder) => join(gitDir, folder))) {
    const error = await access(path, constants.W_OK).catch((fault: NodeJS.ErrnoException) => fault);
    if (!(error instanceof Error) || error.code === 'ENOENT') continue;
    const why = REASONS[error.code ?? ''] ?? error.message;
    throw new HaloError('DISK_FAILED', `halo cannot write to ${path}, where the commits of the run land: ${why}.`, {
      hint: 'Give the user who runs halo write access to the repository.',
      cause: error,
    });
  }
}

/** The prefix of run branches; git allows no branch with exactly this name next to them. */
const FOLDER = 'halo';

/** Throws LAND_REFUSED if a branch name prevents git from creating `halo/<runId>`. */
export async function assertRunBranchesAllowed(gitDir: string): Promise<void> {
  const found = await git(['show-ref', '--verify', '--quiet', `refs/heads/${FOLDER}`], { gitDir, ok: [0, 1] });
  if (found.exitCode !== 0) return assertFolders(gitDir);
  throw new HaloError(
    'LAND_REFUSED',
    `${gitDir} has a branch named ${FOLDER}: git cannot create ${FOLDER}/<runId>, the branch of a run, next to it.`,
    { hint: `Rename it: git branch -m ${FOLDER} <another name>.` },
  );
}

/** A broken branch of this name, or the log of a removed one, is a file where git needs a folder. */
async function assertFolders(gitDir: string): Promise<void> {
  for (const folder of ['refs/heads', 'logs/refs/heads']) {
    const path = join(gitDir, folder, FOLDER);
    const found = await lstat(path).catch(() => undefined);
    if (found === undefined || found.isDirectory()) continue;
    throw new HaloError(
      'LAND_REFUSED',
      `${path} is not a folder: git cannot create ${FOLDER}/<runId>, the branch of a run, in it.`,
      { hint: `Check it, and remove it: rm ${printableShellWord(path)}.` },
    );
  }
}
