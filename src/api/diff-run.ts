import { HaloError } from '../core/failure/errors.ts';
import type { RunState } from '../core/run-state.ts';
import { diffCommits } from '../git/commit/commit-diff.ts';
import { openHeld, parentOf } from '../git/hold.ts';
import { mirrorPath } from '../git/mirror/mirror.ts';
import { findStory } from '../worker/find-story.ts';
import { withWholeMirror } from '../worker/whole-mirror.ts';

/**
 * What a run or one of its stories landed or, for a story that waits for a person, would land. halo has it all, wherever
 * the user's repository went since. Throws STORY_NOT_FOUND.
 */
export function diffRun(home: string, state: RunState, storyId: string | undefined): Promise<Buffer> {
  return withWholeMirror({ home, repo: state.repo, tip: state.tip }, () => diffLanded(home, state, storyId));
}

async function diffLanded(home: string, state: RunState, storyId: string | undefined): Promise<Buffer> {
  const mirrorDir = mirrorPath(home, state.repo.mirror);
  if (storyId === undefined) return diffCommits({ gitDir: mirrorDir, from: state.repo.base, to: state.tip });
  const story = findStory(state, storyId);
  const commit = story.commit ?? story.held?.commit;
  if (commit === undefined)
    throw new HaloError('STORY_NOT_FOUND', `Story ${storyId} has not landed, so there is no diff.`);
  const gitDir = await openHeld(mirrorDir);
  return diffCommits({ gitDir, from: await parentOf(gitDir, commit), to: commit });
}
