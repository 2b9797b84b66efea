import { HaloError } from '../../core/failure/errors.ts';
import { reach } from '../../lib/failpoint.ts';
import { MESSAGES, readTrailers, STORY_KEY, trailerValue } from '../commit/commit-message.ts';
import { syncRef } from '../repository/sync-repository.ts';
import { git, tryGit } from '../process/git.ts';
import { assertObjectId, zeroId } from '../process/object-id.ts';
import { refuseBlockedBranches } from '../run-branch.ts';
import { sendCommit } from '../mirror/send-commit.ts';
import { splitZero } from '../split-zero.ts';
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
  /** What `ref` points to now; undefined when it must not exist yet. */
  expected: string | undefined;
}

/**
 * The slow part of landing: the objects are there afterwards, durably, and no ref has moved. Doing either part again is
 * harmless. Answers with what is to be called when the ref has moved, or will not: until then git keeps the objects,
 * although nothing names them. Throws CONFLICT when the ref is checked out.
 */
export async function bringCommit({
  candidateDir,
  ref,
  commit,
  hostGitDir,
  mirrorDir,
}: Omit<LandRequest, 'expected'>): Promise<() => Promise<void>> {
  assertObjectId(commit, 'The commit');
  await reach('objects.before');
  await refuseCheckedOut(hostGitDir, ref);
  const release = await sendCommit({ from: candidateDir, stores: [hostGitDir, mirrorDir], commit, keepIn: hostGitDir });
  try {
    await reach('objects.after');
    return release;
  } catch (error) {
    await release();
    throw error;
  }
}

/**
 * The quick part: compare-and-swap of `ref` to a commit whose objects are there; it has moved for good when this
 * resolves. Throws CONFLICT when it moved otherwise, and LAND_REFUSED when a branch stands in its way.
 */
export async function moveBranch(request: Omit<LandRequest, 'candidateDir'>): Promise<void> {
  const { ref, commit, expected } = request;
  assertObjectId(commit, 'The commit');
  if (expected !== undefined) assertObjectId(expected, 'The expected commit');
  if (!REF.test(ref)) throw new HaloError('INTERNAL', 'The ref is not one that halo may move.');
  const { hostGitDir, mirrorDir } = request;
  await reach('ref.before');
  await swapRef({ gitDir: hostGitDir, ref, commit, expected });
  await reach('ref.after');
  // The mirror follows, also where a worker that died between the two has left it behind.
  if (mirrorDir !== hostGitDir) await setRef(mirrorDir, ref, commit);
  await reach('mirror.after');
}

const REF = /^refs\/heads\/halo\/[A-Za-z0-9][A-Za-z0-9_-]*$/;

async function refuseCheckedOut(gitDir: string, ref: string): Promise<void> {
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
  const env = { GIT_COMMITTER_NAME: 'halo', GIT_COMMITTER_EMAIL: 'halo@localhost' };
  const swap = [...args, ref, commit, expected ?? zeroId(commit)];
  const options = { gitDir, env, durable: true };
  const moved = await tryGit(swap, options);
  if (moved.exitCode === 0) return;
  const now = await readRef(gitDir, ref);
  if (now === commit) return;
  if (now === expected) {
    await refuseBlockedBranches(gitDir);
    await git(swap, options); // not stale: a lock or the disk; git says which
  } else {
    const branch = ref.replace('refs/heads/', '');
    const was = expected?.slice(0, 12) ?? 'absent';
    throw new HaloError(
      'CONFLICT',
      `The branch ${branch} moved in ${gitDir}: expected ${was}, found ${now?.slice(0, 12) ?? 'nothing'}.`,
      {
        hint: 'Somebody else wrote to it. Nothing was overwritten.',
      },
    );
  }
}

/** Points a ref of halo's own at a commit, for good. */
export async function setRef(gitDir: string, ref: string, commit: string): Promise<void> {
  await git(['update-ref', '--no-deref', ref, commit], { gitDir, durable: true });
  await syncRef(gitDir, ref);
}

/** The commit a ref points to, or undefined. */
export async function readRef(gitDir: string, ref: string): Promise<string | undefined> {
  const args = ['rev-parse', '--quiet', '--verify', '--end-of-options', `${ref}^{commit}`];
  const found = await git(args, { gitDir, ok: [0, 1] });
  return found.exitCode === 0 ? found.stdout.toString('latin1').trim() : undefined;
}

interface LandedStory {
  id: string;
  key: string;
}

export interface LandedQuery {
  hostGitDir: string;
  ref: string;
  /** The commit that the run started from. */
  base: string;
  runId: string;
  story: LandedStory;
  /** The other stories of the run, with the commits that are known to be theirs. */
  others: readonly (LandedStory & { commit?: string })[];
}

/**
 * The commit that landed a story of a run, told by its trailers; undefined when there is none. An older halo named
 * stories by their ids alone: such a commit counts where no other story of the run has an id that reads the same.
 */
export async function findLanded(query: LandedQuery): Promise<string | undefined> {
  const { hostGitDir, ref, base, runId, story, others } = query;
  assertObjectId(base, 'The base commit');
  const tip = await readRef(hostGitDir, ref);
  if (tip === undefined) return undefined;
  const log = await git(['log', ...MESSAGES, `${base}..${tip}`], { gitDir: hostGitDir });
  const taken = others.map(({ commit }) => commit);
  const isAlone = others.every(({ id }) => trailerValue(id) !== trailerValue(story.id));
  return splitZero(log.stdout)
    .map((entry) => ({ commit: entry.slice(0, tip.length), trailers: readTrailers(entry.slice(tip.length + 1)) }))
    .filter(({ commit }) => !taken.includes(commit))
    .find(({ trailers }) => {
      if (trailers.get('Halo-Run') !== trailerValue(runId)) return false;
      const key = trailers.get(STORY_KEY);
      return key === undefined ? isAlone && trailers.get('Halo-Story') === trailerValue(story.id) : key === story.key;
    })?.commit;
}
