import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEntry, JournalEvent } from '../../core/journal/events.ts';
import { assertConfirmed, landingChanges, type Confirmation } from '../../core/review/flags.ts';
import { assertAllowed, canApprove } from '../../core/run/actions.ts';
import type { RunDecisionResult, StoryDecisionResult } from '../../core/run/control-result.ts';
import { currentDecision, storyOf, type RunState, type StoryState } from '../../core/run/state.ts';
import { printableShellWord, safeLine } from '../../core/text/safe-text.ts';
import { openHeldRepository, releaseHeldCommit } from '../../git/commit/held-commits.ts';
import { readParent } from '../../git/commit/read-commits.ts';
import { moveBranch, transferCommit } from '../../git/land/land-commit.ts';
import { mirrorPath } from '../../git/mirror/mirror.ts';
import type { StoryQueue } from '../../queue/queue.ts';
import { writeProofNote } from '../proof/proof-files.ts';
import { hostGitDirOf, runRef } from '../repository/host-repository.ts';
import { withIntactMirror } from '../repository/with-intact-mirror.ts';
import { continueRun } from '../run/continue-run.ts';
import { landRun } from '../run/land-run.ts';
import { readRun } from '../run/read-run.ts';
import { recoverOthers } from '../run/recover-landed.ts';
import type { RunKeeper } from '../worker-context.ts';

/**
 * Approves everything that an ended run landed on its branch. The notes of its commits name the person, and with
 * `[land] mode = "ff"` the run is landed immediately. Safe to repeat; the first person stays named. Throws LAND_REFUSED, UNCONFIRMED.
 */
export async function approveRun(
  keeper: RunKeeper,
  { runId, by, confirmation }: { runId: string; by: string; confirmation?: Confirmation },
): Promise<RunDecisionResult> {
  const { home, store } = keeper;
  const { state, changed, approvedBy } = await store.transact(runId, (state) => {
    assertAllowed(canApprove(state));
    const before = currentDecision(state);
    if (before?.verdict === 'approved')
      return { entries: [], result: { state, changed: false, approvedBy: before.by } };
    assertConfirmed({ verb: 'approve', runId, changes: landingChanges(state), commit: state.tip }, confirmation);
    const entry: JournalEntry = { type: 'run.approved', by, tip: state.tip };
    return { entries: [entry], result: { state, changed: true, approvedBy: by } };
  });
  const { config } = await readRun(keeper, runId);
  const gitDir = await hostGitDirOf(home, state.repo);
  for (const { id, key, attempts, commit, progress } of state.stories) {
    if (commit === undefined || progress !== 'passed') continue;
    const location = { runId, storyKey: key, attempt: attempts };
    const attemptRef = { story: id, attempt: attempts };
    const noted = await writeProofNote({ store, location, attemptRef, gitDir, commit, git: config.git, approvedBy });
    if (noted.length > 0) await store.append(runId, noted);
  }
  const decided = { runId, changed, tip: state.tip };
  if (config.land.mode !== 'ff' || state.stopReason !== 'SUCCESS') return decided;
  return { ...decided, landed: await landRun(store, home, { runId, by, confirmation }) };
}

/** Rejects an ended run: `halo land` then refuses it. Throws LAND_REFUSED. */
export async function rejectRun(
  keeper: RunKeeper,
  runId: string,
  { by, reason }: { by: string; reason: string | undefined },
): Promise<RunDecisionResult> {
  return keeper.store.transact(runId, (state) => {
    assertAllowed(canApprove(state));
    const { tip } = state;
    const changed = currentDecision(state)?.verdict !== 'rejected';
    const entry: JournalEntry = { type: 'run.rejected', by, tip, reason: reasonOf(reason) };
    return { entries: changed ? [entry] : [], result: { runId, changed, tip } };
  });
}

interface StoryDecisionRequest {
  runId: string;
  /** The person who decides. */
  by: string;
  storyId: string;
  openQueue(): Promise<Pick<StoryQueue, 'enqueue'>>;
}

/**
 * Lands exactly the commit that waits for approval, and continues the run. If other stories have passed since, records the
 * approval; then a worker merges the commit, runs its gates again and lands it. Safe to repeat.
 * Throws UNCONFIRMED, STORY_NOT_FOUND, LAND_REFUSED if nothing waits for approval, CONFLICT if someone else moved the branch.
 */
export async function approveStory(
  keeper: RunKeeper,
  decision: StoryDecisionRequest & { confirmation?: Confirmation },
): Promise<StoryDecisionResult> {
  const { home, store } = keeper;
  const { runId, storyId } = decision;
  const state = await store.readState(runId);
  const story = storyOf(state, storyId);
  const known = await findPreviousDecision(keeper, { runId, story, verdict: 'approved' });
  const mirrorDir = mirrorPath(home, state.repo.mirror);
  if (known !== undefined) {
    // The process that recorded the decision may have died before it released the commit and continued the run.
    const result = { story: story.id, commit: known, changed: false, landed: story.approved === undefined };
    if (result.landed) await releaseHeldCommit(mirrorDir, runId, story.key);
    return { ...result, goesOn: await continueAfterDecision(keeper, decision) };
  }
  const { commit } = heldCommitOf(state, story);
  // A later commit of the story, with other flags, is refused below.
  assertConfirmed({ verb: 'approve', runId, changes: [story], commit, story: story.id }, decision.confirmation);
  const readable = <T>(work: () => Promise<T>) => withIntactMirror({ home, repo: state.repo, tip: state.tip }, work);
  const heldDir = await readable(() => openHeldRepository(mirrorDir));
  const parent = await readable(() => readParent(heldDir, commit));
  const hostGitDir = await hostGitDirOf(home, state.repo);
  const { config } = await readRun(keeper, runId);
  const landing = { candidateDir: heldDir, mirrorDir, hostGitDir, ref: runRef(runId), commit, parent };
  const transfer = () => readable(() => transferCommit(landing));
  const release = parent === state.tip ? await transfer() : () => Promise.resolve();
  // In one transaction, so that the end of the run or another landing comes before or after it.
  const decided = store.transact(runId, async (now) => {
    const { attempts, key } = requireHeldStory(now, { storyId, commit });
    const attemptRef = { story: story.id, attempt: attempts };
    const approval = { ...attemptRef, commit, by: decision.by };
    if (parent !== now.tip) return { entries: [{ type: 'approval.given', ...approval }], result: false };
    const expected = now.tip === now.repo.base ? undefined : now.tip;
    const recovered = await moveBranch({ ...landing, expected }).then(
      () => [],
      (error: unknown) => recoverOthers(keeper, { state: now, story: story.id, hostGitDir, config }, error),
    );
    if (recovered.length > 0)
      return { entries: [...recovered, { type: 'approval.given', ...approval }], result: false };
    const location = { runId, storyKey: key, attempt: attempts };
    const noted = await writeProofNote({
      store,
      location,
      attemptRef,
      gitDir: hostGitDir,
      commit,
      git: config.git,
      approvedBy: decision.by,
    });
    const entries: JournalEntry[] = [{ type: 'story.approved', ...approval }, ...noted];
    return { entries, result: true };
  });
  // oxlint-disable-next-line typescript/no-misused-promises -- `finally` waits for the promise
  const landed = await decided.finally(release);
  if (landed) await releaseHeldCommit(mirrorDir, runId, story.key);
  return { story: story.id, commit, changed: true, landed, goesOn: await continueAfterDecision(keeper, decision) };
}

/** Drops the commit that waits for approval; the run ends with APPROVAL_DENIED. Safe to repeat. Throws like approveStory. */
export async function rejectStory(
  keeper: RunKeeper,
  decision: StoryDecisionRequest & { reason: string | undefined },
): Promise<StoryDecisionResult> {
  const { home, store } = keeper;
  const { runId } = decision;
  const state = await store.readState(runId);
  const story = storyOf(state, decision.storyId);
  const known = await findPreviousDecision(keeper, { runId, story, verdict: 'rejected' });
  const release = () => releaseHeldCommit(mirrorPath(home, state.repo.mirror), runId, story.key);
  if (known !== undefined) {
    await release();
    const goesOn = await continueAfterDecision(keeper, decision);
    return { story: story.id, commit: known, changed: false, landed: false, goesOn };
  }
  const { commit } = heldCommitOf(state, story);
  const reason = reasonOf(decision.reason);
  await store.transact(runId, (now) => {
    const { attempts } = requireHeldStory(now, { storyId: story.id, commit });
    const rejection = { story: story.id, attempt: attempts, commit, reason, by: decision.by };
    return { entries: [{ type: 'story.rejected', ...rejection }], result: undefined };
  });
  await release();
  return {
    story: story.id,
    commit,
    changed: true,
    landed: false,
    goesOn: await continueAfterDecision(keeper, decision),
  };
}

async function continueAfterDecision(keeper: RunKeeper, decision: StoryDecisionRequest): Promise<boolean> {
  return (await continueRun(keeper, decision)) !== 'ended';
}

/** Throws LAND_REFUSED if someone else decided on the story in the meantime. */
function requireHeldStory(state: RunState, { storyId, commit }: { storyId: string; commit: string }): StoryState {
  const story = storyOf(state, storyId);
  if (heldCommitOf(state, story).commit === commit) return story;
  throw new HaloError('LAND_REFUSED', `Story ${story.id} of run ${state.runId} has a different commit now.`, {
    hint: `Review it with \`halo diff ${state.runId} --story ${printableShellWord(story.id)}\`.`,
  });
}

/** The reason of a rejection, in the form that journals keep. */
function reasonOf(given: string | undefined): string {
  return safeLine(given ?? '', 500) || 'rejected without a reason';
}

function heldCommitOf(state: RunState, story: StoryState): NonNullable<StoryState['held']> {
  assertAllowed(canApprove(state, story));
  return story.held as NonNullable<StoryState['held']>;
}

/** The commit of the last decision on a story, if that decision was the same and still holds. */
async function findPreviousDecision(
  { store }: Pick<RunKeeper, 'store'>,
  { runId, story, verdict }: { runId: string; story: StoryState; verdict: 'approved' | 'rejected' },
): Promise<string | undefined> {
  if (story.held !== undefined) return undefined;
  const counts =
    verdict === 'approved'
      ? story.approved !== undefined || story.progress === 'passed'
      : story.progress === 'failed' && story.stopReason === 'APPROVAL_DENIED';
  if (!counts) return undefined;
  const words = (await store.readWithoutActivities(runId)).filter(isDecision);
  const last = words.findLast((word) => word.story === story.id);
  if (last === undefined || (last.type === 'story.rejected') !== (verdict === 'rejected')) return undefined;
  return story.commit ?? last.commit;
}

type DecisionEvent = JournalEvent & { type: 'approval.given' | 'story.approved' | 'story.rejected' };

function isDecision(event: JournalEvent): event is DecisionEvent {
  const { type } = event;
  return type === 'approval.given' || type === 'story.approved' || type === 'story.rejected';
}
