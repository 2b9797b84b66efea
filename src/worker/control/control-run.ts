import type { JournalEntry } from '../../core/journal/events.ts';
import type { ControlResult } from '../../core/run/control-result.ts';
import { needsText, unmetNeeds } from '../../core/run/run-dependencies.ts';
import { storyOf, type RunState } from '../../core/run/state.ts';
import { releaseHeldCommit, releaseHeldCommits } from '../../git/commit/held-commits.ts';
import { mirrorPath } from '../../git/mirror/mirror.ts';
import type { StoryQueue } from '../../queue/queue.ts';
import { refreshDebugBundle } from '../run/end-run.ts';
import type { RunKeeper } from '../worker-context.ts';
import { continueRun } from '../run/continue-run.ts';
import { readRun } from '../run/read-run.ts';
import { tryRecoverLanded } from '../run/recover-landed.ts';
import {
  assertAllowed,
  canControl,
  canReopen,
  canRetry,
  describeProgress,
  nothingFailed,
  refused,
  storiesToRetry,
} from '../../core/run/actions.ts';
import { markPrdProgress } from '../run/mark-prd-progress.ts';

export interface ControlRequest {
  runId: string;
  /** Who wants it, for the journal. */
  by: string;
  openQueue(): Promise<Pick<StoryQueue, 'enqueue'>>;
  /** What goes into the journal with it, such as other settings. */
  also?: readonly JournalEntry[];
}

type Said = Omit<ControlResult, 'runId'>;

/** Pauses a run after the running stories or, with `now`, interrupts them. Throws CONTROL_REFUSED. */
export async function pauseRun(keeper: RunKeeper, { runId, by }: ControlRequest, now: boolean): Promise<ControlResult> {
  return applyControl(keeper, runId, (state) => {
    assertAllowed(canControl(state, 'pause'));
    const under = storiesInProgress(state);
    const { paused } = state;
    if (paused !== undefined && (paused.now || !now)) return unchanged(under, `Already paused by ${paused.by}.`);
    const interrupted = under.length === 0 ? 'Paused.' : `Paused; interrupted: ${under.join(', ')}.`;
    return {
      entries: [{ type: 'run.paused', by, now }],
      says:
        under.length === 0 || now
          ? interrupted
          : `Pausing: no other story starts; still running: ${under.join(', ')}. Use --now to interrupt.`,
      changed: true,
      stories: under,
    };
  });
}

/** Resumes a paused run. Throws CONTROL_REFUSED. */
export async function resumeRun(keeper: RunKeeper, request: ControlRequest): Promise<ControlResult> {
  const { runId, by, also = [] } = request;
  const result = await applyControl(keeper, runId, (state) => {
    assertAllowed(canControl(state, 'resume'));
    if (state.paused === undefined) return changeSettingsOnly(also, 'The run is not paused.');
    const says = unmetNeeds(state).length === 0 ? 'Resumed.' : `Resumed, but ${needsText(state) ?? ''}.`;
    return { entries: [...also, { type: 'run.resumed', by }], says, changed: true, stories: storiesInProgress(state) };
  });
  await continueRun(keeper, request);
  return result;
}

/**
 * Cancels a run immediately. Passed stories stay; when this resolves, no other story lands. Throws CONTROL_REFUSED for a run
 * that has ended for another reason.
 */
export async function cancelRun(keeper: RunKeeper, { runId, by }: ControlRequest): Promise<ControlResult> {
  const detail = `cancelled by ${by}`;
  const run = await readRun(keeper, runId);
  const result = await applyControl(keeper, runId, async (state) => {
    const settled = await tryRecoverLanded(keeper, { state, config: run.config });
    const landed = landedText(state, settled);
    if (state.status === 'ended' && state.stopReason === 'USER_ABORT')
      return unchanged([], `Already cancelled; ${landed}.`);
    assertAllowed(canControl(state, 'cancel'));
    return {
      entries: [...settled, { type: 'run.ended', stopReason: 'USER_ABORT', detail, by }],
      says: `Cancelled; ${landed}.`,
      changed: true,
      stories: storiesInProgress(state),
    };
  });
  // Also for a run that was cancelled before: the process that recorded it may have died.
  const { repo } = await keeper.store.readState(runId);
  await releaseHeldCommits(mirrorPath(keeper.home, repo.mirror), runId);
  await markPrdProgress(keeper, run);
  await refreshDebugBundle(keeper, { ...run, end: { stopReason: 'USER_ABORT', detail } });
  return result;
}

/** Cancels a story; the run continues without it. Throws STORY_NOT_FOUND, CONTROL_REFUSED. */
export async function cancelStory(keeper: RunKeeper, request: ControlRequest, storyId: string): Promise<ControlResult> {
  const { runId, by } = request;
  const { repo, stories } = await keeper.store.readState(runId);
  const { key } = storyOf({ runId, stories }, storyId);
  const { config } = await readRun(keeper, runId);
  const result = await applyControl(keeper, runId, async (state) => {
    const story = storyOf(state, storyId);
    const attemptRef = { story: story.id, attempt: story.attempts };
    const nothing = 'there is nothing to cancel.';
    switch (story.progress) {
      case 'cancelled':
        return unchanged([story.id], `Story ${story.id} was already cancelled.`);
      case 'passed':
      case 'done':
      case 'skipped':
        throw refused(`Story ${story.id} ${describeProgress(story)}: ${nothing}`);
      default: {
        assertAllowed(canControl(state, 'cancel'));
        const landed = await tryRecoverLanded(keeper, { state, stories: [story], config });
        if (landed.length > 0)
          return { ...unchanged([story.id], `Story ${story.id} has passed: ${nothing}`), entries: landed };
        return {
          entries: [{ type: 'story.cancelled', by, ...attemptRef }],
          says: `Story ${story.id} is cancelled; the run continues without it.`,
          changed: true,
          stories: [story.id],
        };
      }
    }
  });
  await releaseHeldCommit(mirrorPath(keeper.home, repo.mirror), runId, key);
  await continueRun(keeper, request);
  if (!result.changed || (await keeper.store.readState(runId)).status !== 'ended') return result;
  return {
    ...result,
    says: `Story ${result.stories.join()} is cancelled; nothing else can start, so the run has ended.`,
  };
}

/**
 * Retries an ended run, or the failed stories of an open run, with fresh attempts, and with `newTests` without the tests
 * that earlier attempts have locked. Passed stories stay. Throws STORY_NOT_FOUND, and CONTROL_REFUSED if there is nothing to retry.
 */
export async function retryRun(
  keeper: RunKeeper,
  request: ControlRequest & { newTests?: boolean },
  storyId: string | undefined,
): Promise<ControlResult> {
  const { runId, by, also = [], newTests } = request;
  const result = await applyControl(keeper, runId, (state) => {
    const stories = storiesToRetry(state, storyId);
    const isOfRun = storyId === undefined && state.status !== 'ended';
    if (isOfRun && stories.length === 0 && canReopen(state) === true)
      return changeSettingsOnly(also, nothingFailed(state));
    assertAllowed(canRetry(state, storyId));
    const retried: JournalEntry = { type: 'run.retried', by, stories, ...(newTests && { newTests }) };
    return {
      entries: [...also, retried],
      says: stories.length === 0 ? 'The run continues.' : `Retrying ${stories.join(', ')} with fresh attempts.`,
      changed: true,
      stories,
    };
  });
  await continueRun(keeper, request);
  return result;
}

type Decided = Said & { entries: readonly JournalEntry[] };

async function applyControl(
  keeper: RunKeeper,
  runId: string,
  how: (state: RunState) => Decided | Promise<Decided>,
): Promise<ControlResult> {
  return keeper.store.transact(runId, async (state) => {
    const { entries, ...said } = await how(state);
    return { entries, result: { runId, ...said } };
  });
}

function unchanged(stories: string[], says: string): Decided {
  return { entries: [], changed: false, stories, says };
}

/** Appends only the new settings, if there are any. */
function changeSettingsOnly(also: readonly JournalEntry[], says: string): Decided {
  if (also.length === 0) return unchanged([], says);
  return {
    entries: also,
    changed: true,
    stories: [],
    says: `${says} The new settings apply from the next attempt on.`,
  };
}

function storiesInProgress({ stories }: RunState): string[] {
  return stories.filter(({ progress }) => progress === 'in_progress').map(({ id }) => id);
}

function landedText({ runId, stories }: RunState, settled: readonly JournalEntry[]): string {
  const known = stories.filter(({ progress }) => progress === 'passed').map(({ id }) => id);
  const landed = [...known, ...settled.flatMap((entry) => (entry.type === 'story.ended' ? [entry.story] : []))];
  return landed.length === 0 ? 'no story has passed' : `passed stories are on halo/${runId}: ${landed.join(', ')}`;
}
