import type { JournalEntry } from '../../core/journal/events.ts';
import { needsText, unmetNeeds } from '../../core/run/run-dependencies.ts';
import type { RunState } from '../../core/run-state.ts';
import { releaseCommit } from '../../git/hold.ts';
import { mirrorPath } from '../../git/mirror/mirror.ts';
import type { StoryQueue } from '../../queue/queue.ts';
import { refreshBundle } from '../run/end-run.ts';
import type { RunKeeper } from '../worker-context.ts';
import { findStory } from '../find-story.ts';
import { goOn } from '../run/continue-run.ts';
import { readRun } from '../run/read-run.ts';
import { settleLanded } from '../recover-landed.ts';
import {
  approveHint,
  isStuck,
  nothingFailed,
  nothingToRetry,
  progressText,
  refused,
  refuseEnded,
  refuseNeverBegun,
  refuseVain,
  requireStuck,
} from '../refuse-word.ts';
import { writeBackProgress } from '../run/mark-prd-progress.ts';

export interface Steering {
  runId: string;
  /** Who wants it, for the journal. */
  by: string;
  openQueue(): Promise<Pick<StoryQueue, 'enqueue'>>;
  /** What goes into the journal with it, such as other settings. */
  also?: readonly JournalEntry[];
}

/** What a person's word did to a run. */
export interface Steered {
  runId: string;
  /** False: it was so before. */
  changed: boolean;
  /** The stories that it is about. */
  stories: string[];
  /** How the run stands now, as a sentence. */
  says: string;
}

type Said = Omit<Steered, 'runId'>;

/** Lets a run rest after the stories under way, or in the middle of them with `now`. Throws STEER_REFUSED. */
export async function pauseRun(keeper: RunKeeper, { runId, by }: Steering, now: boolean): Promise<Steered> {
  return decide(keeper, runId, (state) => {
    refuseEnded(state, 'pause');
    const under = underWay(state);
    const { paused } = state;
    if (paused !== undefined && (paused.now || !now)) return unchanged(under, `It was paused before, by ${paused.by}.`);
    const rests = under.length === 0 || now;
    return {
      entries: [{ type: 'run.paused', by, now }],
      says: rests
        ? 'It rests.'
        : `It starts no more stories; under way to the end: ${under.join(', ')}. With --now it does not wait for that.`,
      changed: true,
      stories: under,
    };
  });
}

/** Lets a paused run go on. Throws STEER_REFUSED. */
export async function resumeRun(keeper: RunKeeper, steering: Steering): Promise<Steered> {
  const { runId, by, also = [] } = steering;
  const steered = await decide(keeper, runId, (state) => {
    refuseEnded(state, 'resume');
    if (state.paused === undefined) return onlyWith(also, 'It is not paused.');
    const says =
      unmetNeeds(state).length === 0 ? 'It goes on.' : `It is no longer paused, but ${needsText(state) ?? ''}.`;
    return { entries: [...also, { type: 'run.resumed', by }], says, changed: true, stories: underWay(state) };
  });
  await goOn(keeper, steering);
  return steered;
}

/**
 * Ends a run at once: what landed before stays, and nothing lands any more when this resolves.
 * Throws STEER_REFUSED for a run that ended otherwise.
 */
export async function cancelRun(keeper: RunKeeper, { runId, by }: Steering): Promise<Steered> {
  const detail = `cancelled by ${by}`;
  const [run, before] = await Promise.all([readRun(keeper, runId), keeper.store.readState(runId)]);
  const steered = await decide(keeper, runId, async (state) => {
    const settled = await settleLanded(keeper, state, run.config);
    const landed = landedText(state, settled);
    if (state.status === 'ended' && state.stopReason === 'USER_ABORT')
      return unchanged([], `It was cancelled before; ${landed}.`);
    refuseEnded(state, 'cancel');
    return {
      entries: [...settled, { type: 'run.ended', stopReason: 'USER_ABORT', detail, by }],
      says: `It is cancelled; ${landed}.`,
      changed: true,
      stories: underWay(state),
    };
  });
  if (!steered.changed) return steered;
  for (const { key, held, approved } of before.stories)
    if (held !== undefined || approved !== undefined)
      await releaseCommit(mirrorPath(keeper.home, before.repo.mirror), runId, key);
  await writeBackProgress(keeper, run);
  await refreshBundle(keeper, { ...run, end: { stopReason: 'USER_ABORT', detail } });
  return steered;
}

/** Takes a story out of a run, which goes on without it. Throws STORY_NOT_FOUND, STEER_REFUSED. */
export async function cancelStory(keeper: RunKeeper, steering: Steering, storyId: string): Promise<Steered> {
  const { runId, by } = steering;
  const { repo, stories } = await keeper.store.readState(runId);
  const { key } = findStory({ runId, stories }, storyId);
  const steered = await decide(keeper, runId, (state) => {
    const story = findStory(state, storyId);
    const whose = { story: story.id, attempt: story.attempts };
    switch (story.progress) {
      case 'cancelled':
        return unchanged([story.id], `Story ${story.id} was cancelled before.`);
      case 'passed':
      case 'done':
      case 'skipped':
        throw refused(`Story ${story.id} ${progressText(story)}: there is nothing to cancel.`);
      case 'pending':
      case 'in_progress':
      case 'failed':
      case 'needs_human':
        refuseEnded(state, 'cancel');
        return {
          entries: [{ type: 'story.cancelled', by, ...whose }],
          says: `Story ${story.id} is cancelled; the run goes on without it.`,
          changed: true,
          stories: [story.id],
        };
    }
  });
  await releaseCommit(mirrorPath(keeper.home, repo.mirror), runId, key);
  await goOn(keeper, steering);
  if (!steered.changed || (await keeper.store.readState(runId)).status !== 'ended') return steered;
  return {
    ...steered,
    says: `Story ${steered.stories.join()} is cancelled; nothing else can start, so the run has ended.`,
  };
}

/**
 * Lets an ended run, or the stories of an open one that failed, be done anew with fresh attempts; what landed stays.
 * Throws STORY_NOT_FOUND, and STEER_REFUSED when there is nothing to retry.
 */
export async function retryRun(keeper: RunKeeper, steering: Steering, storyId: string | undefined): Promise<Steered> {
  const { runId, by, also = [] } = steering;
  const steered = await decide(keeper, runId, (state) => {
    refuseNeverBegun(state);
    const again = storyId === undefined ? state.stories.filter(isStuck) : [requireStuck(state, storyId)];
    const open = state.stories.filter(({ progress }) => progress === 'pending' || progress === 'in_progress');
    if (again.length === 0 && state.status !== 'ended') return onlyWith(also, nothingFailed(state));
    if (again.length + open.length === 0) throw refused(nothingToRetry(state), approveHint(state));
    const ids = again.map(({ id }) => id);
    const left = state.status === 'ended' ? open.filter(({ progress }) => progress === 'in_progress') : [];
    const stories = [...ids, ...left.map(({ id }) => id)];
    const retried: JournalEntry = { type: 'run.retried', by, stories };
    refuseVain(state, retried);
    return {
      entries: [...also, retried],
      says: stories.length === 0 ? 'It goes on.' : `It goes on with ${stories.join(', ')}, with fresh attempts.`,
      changed: true,
      stories,
    };
  });
  await goOn(keeper, steering);
  return steered;
}

type Decided = Said & { entries: readonly JournalEntry[] };

async function decide(
  keeper: RunKeeper,
  runId: string,
  how: (state: RunState) => Decided | Promise<Decided>,
): Promise<Steered> {
  return keeper.store.transact(runId, async (state) => {
    const { entries, ...said } = await how(state);
    return { entries, result: { runId, ...said } };
  });
}

function unchanged(stories: string[], says: string): Decided {
  return { entries: [], changed: false, stories, says };
}

/** Nothing is changed but the settings, where some are given. */
function onlyWith(also: readonly JournalEntry[], says: string): Decided {
  if (also.length === 0) return unchanged([], says);
  return {
    entries: also,
    changed: true,
    stories: [],
    says: `${says} Its settings are changed from the next attempt on.`,
  };
}

function underWay({ stories }: RunState): string[] {
  return stories.filter(({ progress }) => progress === 'in_progress').map(({ id }) => id);
}

function landedText({ runId, stories }: RunState, settled: readonly JournalEntry[]): string {
  const known = stories.filter(({ progress }) => progress === 'passed').map(({ id }) => id);
  const landed = [...known, ...settled.flatMap((entry) => (entry.type === 'story.ended' ? [entry.story] : []))];
  return landed.length === 0 ? 'nothing had landed' : `what landed before is on halo/${runId}: ${landed.join(', ')}`;
}
