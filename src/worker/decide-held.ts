import { HaloError } from '../core/failure/errors.ts';
import type { JournalEntry } from '../core/journal/events.ts';
import type { RunState, StoryState } from '../core/run-state.ts';
import { safeLine } from '../core/safe-text.ts';
import { openHeld, parentOf, releaseCommit } from '../git/hold.ts';
import { bringCommit, moveBranch } from '../git/land/land-commit.ts';
import { mirrorPath } from '../git/mirror/mirror.ts';
import type { StoryQueue } from '../queue/queue.ts';
import type { RunKeeper } from './worker-context.ts';
import { decidedBefore } from './control/previous-decision.ts';
import { findStory } from './find-story.ts';
import { goOn } from './run/continue-run.ts';
import { hostGitDirOf } from './host-repo.ts';
import { noteProof } from './keep-proof.ts';
import { runRef } from './run-ref.ts';
import { readRun } from './run/read-run.ts';
import { withWholeMirror } from './whole-mirror.ts';

export interface Decided {
  story: string;
  commit: string;
  /** False: the same was said before. */
  changed: boolean;
  /** False: it was dropped, or a worker merges it onto the newest commit and proves it again before it lands. */
  landed: boolean;
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
 * Lands exactly the commit that a story was held with, and lets the run go on. Where other stories have landed since,
 * the person's yes goes into the journal, and a worker merges the commit onto theirs, proves it again and lands it.
 * Repeating it is harmless.
 * Throws STORY_NOT_FOUND, LAND_REFUSED when nothing waits for approval, CONFLICT when somebody else moved the branch.
 */
export async function approveStory(keeper: RunKeeper, decision: Decision): Promise<Decided> {
  const { home, store } = keeper;
  const { runId, storyId } = decision;
  const state = await store.readState(runId);
  const story = findStory(state, storyId);
  const known = await decidedBefore(keeper, { runId, story, verdict: 'approved' });
  if (known !== undefined) {
    // Whoever said it may have died before the run could go on.
    const said = { story: story.id, commit: known, changed: false, landed: story.approved === undefined };
    return { ...said, goesOn: await letGoOn(keeper, decision) };
  }
  const { commit } = requireHeld(state, story);
  const mirrorDir = mirrorPath(home, state.repo.mirror);
  const readable = <T>(work: () => Promise<T>) => withWholeMirror({ home, repo: state.repo, tip: state.tip }, work);
  const heldDir = await readable(() => openHeld(mirrorDir));
  const parent = await readable(() => parentOf(heldDir, commit));
  const hostGitDir = await hostGitDirOf(home, state.repo);
  const { git } = (await readRun(keeper, runId)).config;
  const landing = { candidateDir: heldDir, mirrorDir, hostGitDir, ref: runRef(runId), commit };
  const bring = () => readable(() => bringCommit(landing));
  const release = parent === state.tip ? await bring() : () => Promise.resolve();
  // Whoever ends the run, or lands another story of it, comes before or after this, never between.
  const decided = store.transact(runId, async (now) => {
    const { attempts, key } = requireStill(now, { storyId, commit });
    const whose = { story: story.id, attempt: attempts };
    const yes = { ...whose, commit, by: decision.by };
    if (parent !== now.tip) return { entries: [{ type: 'approval.given', ...yes }], result: false };
    await moveBranch({ ...landing, expected: now.tip === now.repo.base ? undefined : now.tip });
    const place = { runId, storyKey: key, attempt: attempts };
    const noted = await noteProof({ store, place, whose, gitDir: hostGitDir, commit, git, approvedBy: decision.by });
    const entries: JournalEntry[] = [{ type: 'story.approved', ...yes }, ...noted];
    return { entries, result: true };
  });
  const landed = await decided.finally(release);
  if (landed) await releaseCommit(mirrorDir, runId, story.key);
  return { story: story.id, commit, changed: true, landed, goesOn: await letGoOn(keeper, decision) };
}

/**
 * Drops the commit that a story was held with; the run ends with APPROVAL_DENIED. Repeating it is harmless. Throws like
 * approveStory.
 */
export async function rejectStory(
  keeper: RunKeeper,
  decision: Decision & { reason: string | undefined },
): Promise<Decided> {
  const { home, store } = keeper;
  const { runId } = decision;
  const state = await store.readState(runId);
  const story = findStory(state, decision.storyId);
  const known = await decidedBefore(keeper, { runId, story, verdict: 'rejected' });
  if (known !== undefined) {
    const goesOn = await letGoOn(keeper, decision);
    return { story: story.id, commit: known, changed: false, landed: false, goesOn };
  }
  const { commit } = requireHeld(state, story);
  const reason = reasonOf(decision.reason);
  await store.transact(runId, (now) => {
    const { attempts } = requireStill(now, { storyId: story.id, commit });
    const word = { story: story.id, attempt: attempts, commit, reason, by: decision.by };
    return { entries: [{ type: 'story.rejected', ...word }], result: undefined };
  });
  await releaseCommit(mirrorPath(home, state.repo.mirror), runId, story.key);
  return { story: story.id, commit, changed: true, landed: false, goesOn: await letGoOn(keeper, decision) };
}

async function letGoOn(keeper: RunKeeper, decision: Decision): Promise<boolean> {
  return (await goOn(keeper, decision)) !== 'ended';
}

/** Throws LAND_REFUSED when somebody was quicker with a word on it. */
function requireStill(state: RunState, { storyId, commit }: { storyId: string; commit: string }): StoryState {
  const story = findStory(state, storyId);
  if (requireHeld(state, story).commit === commit) return story;
  throw new HaloError('LAND_REFUSED', `Story ${story.id} of run ${state.runId} has another commit by now.`, {
    hint: `\`halo diff ${state.runId} --story ${story.id}\` shows it.`,
  });
}

/** A person's reason to refuse something, as journals keep it. */
export function reasonOf(given: string | undefined): string {
  return safeLine(given ?? '', 500) || 'a person refused the change';
}

function requireHeld({ runId, stories }: RunState, story: StoryState): NonNullable<StoryState['held']> {
  if (story.held !== undefined) return story.held;
  const waiting = stories.filter(({ held }) => held !== undefined).map(({ id }) => id);
  throw new HaloError('LAND_REFUSED', `Story ${story.id} of run ${runId} does not wait for approval.`, {
    hint: waiting.length === 0 ? `\`halo status ${runId}\` shows how it stands.` : `Waiting: ${waiting.join(', ')}.`,
  });
}
