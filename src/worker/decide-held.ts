import { HaloError } from '../core/errors.ts';
import type { RunState, StoryState } from '../core/run-state.ts';
import { safeLine } from '../core/safe-text.ts';
import { parentOf, releaseCommit } from '../git/hold.ts';
import { landCommit } from '../git/land.ts';
import { mirrorPath } from '../git/mirror.ts';
import type { StoryQueue } from '../queue/queue.ts';
import { endRun, planEnd, type RunKeeper } from './end-run.ts';
import { findStory } from './find-story.ts';
import { hostGitDirOf } from './host-repo.ts';
import { noteProof } from './keep-proof.ts';
import { nextJobs } from './next-job.ts';
import { runRef } from './run-ref.ts';
import { readRun } from './read-run.ts';

export interface Decided {
  story: string;
  commit: string;
  /** Whether a worker has something left to do for the run. */
  goesOn: boolean;
}

export interface Decision {
  runId: string;
  /** Who decides, for the journal. */
  by: string;
  storyId: string;
  openQueue(): Promise<Pick<StoryQueue, 'enqueue'>>;
}

/**
 * Lands exactly the commit that a story was held with, and lets the run go on. Repeating it is harmless.
 * Throws STORY_NOT_FOUND, LAND_REFUSED when nothing waits for approval, CONFLICT when the branch moved.
 */
export async function approveStory(keeper: RunKeeper, decision: Decision): Promise<Decided> {
  const { home, store } = keeper;
  const { runId } = decision;
  const state = await store.readState(runId);
  const story = findStory(state, decision.storyId);
  // Approved before, but whoever did it may have died before the run could go on.
  if (story.held === undefined && story.commit !== undefined && state.status === 'queued') {
    return { story: story.id, commit: story.commit, goesOn: await goOn(keeper, decision) };
  }
  const { commit } = requireHeld(state, story);
  const { repo, tip } = state;
  const mirrorDir = mirrorPath(home, repo.mirror);
  const parent = await parentOf(mirrorDir, commit);
  if (parent !== tip) {
    throw new HaloError(
      'CONFLICT',
      `Story ${story.id} was built on ${parent.slice(0, 12)}, but the run is at ${tip.slice(0, 12)}.`,
      {
        hint: 'Submit the PRD again: the story is done anew on what is there now.',
      },
    );
  }
  const hostGitDir = await hostGitDirOf(home, repo);
  await landCommit({
    candidateDir: mirrorDir,
    mirrorDir,
    hostGitDir,
    ref: runRef(runId),
    commit,
    expected: tip === repo.base ? undefined : tip,
  });
  const whose = { story: story.id, attempt: story.attempts };
  await store.append(runId, [{ type: 'story.approved', ...whose, commit, by: decision.by }]);
  await releaseCommit(mirrorDir, runId, story.key);
  const place = { runId, storyKey: story.key, attempt: story.attempts };
  const { git } = (await readRun(keeper, runId)).config;
  const noted = await noteProof({ store, place, whose, gitDir: hostGitDir, commit, git, approvedBy: decision.by });
  await store.append(runId, noted);
  return { story: story.id, commit, goesOn: await goOn(keeper, decision) };
}

/** Drops the commit that a story was held with; the run ends with APPROVAL_DENIED. Throws like approveStory. */
export async function rejectStory(
  keeper: RunKeeper,
  decision: Decision & { reason: string | undefined },
): Promise<Decided> {
  const { home, store } = keeper;
  const { runId } = decision;
  const state = await store.readState(runId);
  const story = findStory(state, decision.storyId);
  const { commit } = requireHeld(state, story);
  const reason = safeLine(decision.reason ?? '', 500) || 'a person refused the change';
  await store.append(runId, [
    { type: 'story.rejected', story: story.id, attempt: story.attempts, commit, reason, by: decision.by },
  ]);
  await releaseCommit(mirrorPath(home, state.repo.mirror), runId, story.key);
  return { story: story.id, commit, goesOn: await goOn(keeper, decision) };
}

/** Queues what comes next, or ends the run when nothing does. */
async function goOn(keeper: RunKeeper, decision: Decision): Promise<boolean> {
  const { runId } = decision;
  const state = await keeper.store.readState(runId);
  const run = await readRun(keeper, runId);
  if (planEnd(state) !== undefined) {
    await endRun(keeper, run, planEnd);
    return false;
  }
  const queue = await decision.openQueue();
  for (const job of nextJobs(state)) await queue.enqueue(job);
  return true;
}

function requireHeld({ runId, stories }: RunState, story: StoryState): NonNullable<StoryState['held']> {
  if (story.held !== undefined) return story.held;
  const waiting = stories.filter(({ held }) => held !== undefined).map(({ id }) => id);
  throw new HaloError('LAND_REFUSED', `Story ${story.id} of run ${runId} does not wait for approval.`, {
    hint: waiting.length === 0 ? `\`halo status ${runId}\` shows how it stands.` : `Waiting: ${waiting.join(', ')}.`,
  });
}
