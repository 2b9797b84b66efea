import { printableShellWord } from '../../core/text/safe-text.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { toPrunedError } from '../../core/run/pruned.ts';
import { storyOf, type RunState, type StoryState } from '../../core/run/state.ts';
import { diffCommits, hasCommit, readParent } from '../../git/commit/read-commits.ts';
import { openHeldRepository, readHeldCommit } from '../../git/commit/held-commits.ts';
import { mirrorPath } from '../../git/mirror/mirror.ts';
import type { ArtifactStore } from '../../store/artifact-store.ts';
import { withIntactMirror } from '../../worker/repository/with-intact-mirror.ts';

interface DiffPlaces {
  home: string;
  store: Pick<ArtifactStore, 'readArtifactFile'>;
}

interface WantedDiff {
  /** Undefined: the whole run. */
  story: string | undefined;
  /** An attempt at the story whose commit was sent back: only what changed after it. */
  since?: number | undefined;
}

/**
 * The diff of the commits of a run or of one of its stories, or that an approval would land; for a failed story, that of its
 * last attempt. The user's repository is not needed. Throws STORY_NOT_FOUND; USAGE and ARTIFACT_UNREADABLE for `since`.
 */
export async function diffRun(
  { home, store }: DiffPlaces,
  state: RunState,
  { story: storyId, since }: WantedDiff,
): Promise<Buffer> {
  if (since !== undefined) {
    const pair = requireRound(state, storyId, since);
    return withIntactMirror({ home, repo: state.repo, tip: state.tip }, () => diffRound(home, state, pair));
  }
  const story = storyId === undefined ? undefined : storyOf(state, storyId);
  if (story !== undefined && commitOf(story) === undefined) {
    const path = `${story.key}/${story.attempts}/diff.patch`;
    return store.readArtifactFile(state.runId, path).catch((error: unknown) => {
      if (state.pruned !== undefined) throw toPrunedError(state, error);
      throw error instanceof HaloError && error.code === 'ARTIFACT_UNREADABLE' ? noDiff(story) : error;
    });
  }
  return withIntactMirror({ home, repo: state.repo, tip: state.tip }, () => diffLanded(home, state, storyId));
}

function commitOf({ commit, held, approved }: StoryState): string | undefined {
  return held?.commit ?? approved?.commit ?? commit;
}

function noDiff({ id, attempts }: StoryState): HaloError {
  const why =
    attempts === 0 ? 'has not started, so it has no diff' : 'has not passed, and its last attempt left no diff';
  return new HaloError('STORY_NOT_FOUND', `Story ${id} ${why}.`);
}

async function diffLanded(home: string, state: RunState, storyId: string | undefined): Promise<Buffer> {
  const mirrorDir = mirrorPath(home, state.repo.mirror);
  if (storyId === undefined) return diffCommits({ gitDir: mirrorDir, from: state.repo.base, to: state.tip });
  const story = storyOf(state, storyId);
  const commit = commitOf(story);
  if (commit === undefined) throw noDiff(story);
  const gitDir = await openHeldRepository(mirrorDir);
  return diffCommits({ gitDir, from: await readParent(gitDir, commit), to: commit });
}

interface Round {
  story: StoryState;
  since: number;
  /** The commit that was sent back, and the newest one. */
  earlier: string;
  newest: string;
}

/** The commit of a story that was sent back, and its newest one. Throws USAGE, STORY_NOT_FOUND. */
function requireRound(state: RunState, storyId: string | undefined, since: number): Round {
  if (storyId === undefined) throw new HaloError('USAGE', 'A diff since an attempt needs a story.');
  const story = storyOf(state, storyId);
  const earlier = story.feedback?.findLast(({ attempt }) => attempt === since)?.commit;
  const sentBack = [...new Set(story.feedback?.map(({ attempt }) => attempt))].join(', ');
  if (earlier === undefined)
    throw new HaloError('USAGE', `The commit of attempt ${since} at story ${story.id} was not sent back.`, {
      hint: sentBack === '' ? 'Omit the attempt.' : `Commits of these attempts were: ${sentBack}.`,
    });
  const newest = commitOf(story);
  if (newest === undefined || newest === earlier)
    throw new HaloError('STORY_NOT_FOUND', `Story ${story.id} has no new commit since attempt ${since} was sent back.`);
  return { story, since, earlier, newest };
}

/**
 * What changed between two commits of a story. If other stories landed in between, only the files that one of the two
 * commits changes: the others say nothing about this story.
 */
async function diffRound(home: string, state: RunState, { story, since, earlier, newest }: Round): Promise<Buffer> {
  const gitDir = await openHeldRepository(mirrorPath(home, state.repo.mirror));
  if (!(await hasCommit(gitDir, earlier)))
    throw new HaloError(
      'ARTIFACT_UNREADABLE',
      `The commit of attempt ${since} at story ${story.id} is not stored any more.`,
      { hint: `Run \`halo diff ${state.runId} --story ${printableShellWord(story.id)}\` for the whole change.` },
    );
  const changes = await Promise.all([earlier, newest].map((commit) => readHeldCommit(gitDir, commit)));
  const isSameBase = changes[0]?.parent === changes[1]?.parent || changes[1]?.parent === earlier;
  const paths = [...new Set(changes.flatMap(({ changed }) => changed.map(({ path }) => path)))];
  return diffCommits({ gitDir, from: earlier, to: newest, ...(!isSameBase && { paths }) });
}
