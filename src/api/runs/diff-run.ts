import { HaloError } from '../../core/failure/errors.ts';
import { toPrunedError } from '../../core/retention/retention.ts';
import { storyOf, type RunState, type StoryState } from '../../core/run/state.ts';
import { diffCommits } from '../../git/commit/commit-diff.ts';
import { openHeldRepository } from '../../git/commit/held-commits.ts';
import { readParent } from '../../git/commit/read-parents.ts';
import { mirrorPath } from '../../git/mirror/mirror.ts';
import type { ArtifactStore } from '../../store/artifact-store.ts';
import { withIntactMirror } from '../../worker/repository/with-intact-mirror.ts';

interface DiffPlaces {
  home: string;
  store: Pick<ArtifactStore, 'readArtifactFile'>;
}

/**
 * The diff that a run or one of its stories landed, or that an approval would land; for a failed story, that of its
 * last attempt. The user's repository is not needed. Throws STORY_NOT_FOUND.
 */
export async function diffRun(
  { home, store }: DiffPlaces,
  state: RunState,
  storyId: string | undefined,
): Promise<Buffer> {
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
    attempts === 0 ? 'has not started, so it has no diff' : 'has not landed, and its last attempt left no diff';
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
