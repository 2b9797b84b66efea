import { addUsage } from '../agent.ts';
import { foldPulls } from '../pulls/pull-state.ts';
import { findStoryFindings, FINDINGS, isNoted, withNoted, withoutNoted } from '../review/story-findings.ts';
import { lockedTestsOf } from '../review/tests-first.ts';
import { createState } from '../run/initial-state.ts';
import { changeNeed } from '../run/run-dependencies.ts';
import { omit, type NotedCommit, type RunState, type StoryState } from '../run/state.ts';
import { applyControlEvent, markCancelled, reopenRun } from './control-events.ts';
import { countedUsage, isMeteredAfter } from './counted-usage.ts';
import { msBetween } from '../text/format-elapsed.ts';
import { withMessage, withShown } from '../run/messages.ts';
import type { Verdict } from '../run/progress.ts';
import { JOURNAL_VERSION, type HeldCommit } from './event-parts.ts';
import type { JournalEntry, JournalEvent } from './events.ts';
import {
  afterEnd,
  afterStart,
  countForBreaker,
  foldFailure,
  pauseModel,
  postponeStory,
  stopWaitingFor,
  withoutWaiting,
  withoutStart,
  withoutBreaker,
} from './fold-failures.ts';

/** Folds a run's events in order into its state. The first event is `run.created`. */
export function foldRun(events: Iterable<JournalEvent>): RunState | undefined {
  let state: RunState | undefined;
  for (const event of events) state = applyEvent(state, event);
  return state;
}

/** Returns the state as it would be after entries that are not in the journal. `at`: ISO 8601 */
export function foldEntries(state: RunState, entries: readonly JournalEntry[], at = ''): RunState {
  return entries.reduce(
    (sum, entry) => applyEvent(sum, { v: JOURNAL_VERSION, seq: sum.seq + 1, at, ...entry }) ?? sum,
    state,
  );
}

/** Returns the state after one more event, without changing the given one. */
export function applyEvent(state: RunState | undefined, event: JournalEvent): RunState | undefined {
  const next = foldEvent(state, event);
  return next && countWork(next, event.at);
}

/** Starts and stops the clock of the run. */
function countWork(state: RunState, at: string): RunState {
  const { worked: { ms, since } = { ms: 0 }, stories, status, paused } = state;
  const isRunning = status !== 'ended' && stories.some((story) => isUnderWay(story, paused !== undefined));
  if (isRunning === (since !== undefined)) return state;
  const worked = since === undefined ? { ms, since: at } : { ms: ms + Math.max(0, msBetween(since, at)) };
  return { ...state, worked };
}

/** An attempt runs, or a retry is due: not so behind an open breaker or during a pause of the model. */
function isUnderWay({ attemptAt, waiting }: StoryState, isPaused: boolean): boolean {
  if (waiting === undefined) return attemptAt !== undefined;
  return waiting.breaker === undefined && waiting.model === undefined && !isPaused;
}

function foldEvent(state: RunState | undefined, event: JournalEvent): RunState | undefined {
  if (event.type === 'run.created') return createState(event);
  if (state === undefined) return undefined;
  const next = countUsage({ ...state, seq: event.seq }, event);
  switch (event.type) {
    case 'need.changed':
      return changeNeed(next, event);
    case 'run.started': {
      const { channel, images, at } = event;
      const first = { ...(channel && { channel }), ...(images && { images }) };
      return { ...next, status: 'running', startedAt: state.startedAt ?? at, ...first };
    }
    case 'run.claimed':
      return { ...next, owner: event.owner, askedAt: event.at };
    case 'run.ended':
      return endRun(next, event);
    case 'run.landed':
      return { ...next, landed: { branch: event.branch, to: event.to } };
    case 'run.pruned':
      return { ...next, pruned: { at: event.at, by: event.by } };
    case 'marks.failed':
      return { ...next, unmarked: { stories: event.stories, reason: event.reason } };
    case 'marks.caught_up':
      return withoutUnmarked(next);
    case 'story.started':
      return {
        ...withStory(next, event.story, (story) => ({
          ...afterStart(withoutFindings(omit(story, 'phase', 'phaseAt', 'takesMessages')), event),
          progress: 'in_progress',
          attempts: event.attempt,
          epoch: event.epoch,
          base: event.base,
          startedAt: story.startedAt ?? event.at,
          attemptAt: event.at,
        })),
        epoch: event.epoch,
      };
    case 'phase.started':
      return withStory(next, event.story, (story) => ({
        ...withoutNoted(
          omit(story, 'takesMessages', ...(event.phase === 'tests' ? ['keptTests' as const] : [])),
          event.phase,
        ),
        phase: event.phase,
        phaseAt: event.at,
      }));
    case 'services.awaited':
      return withStory(next, event.story, (story) => ({ ...story, awaits: event.services }));
    case 'services.ready':
    case 'service.failed':
      return withStory(next, event.story, (story) => omit(withNoted(story, event), 'awaits'));
    case 'model.paused':
    case 'key.paused':
      return pauseModel(next, event);
    case 'story.ended': {
      const ended = {
        ...withStory(
          countForBreaker(event.commit === undefined ? next : withoutLanded(next), event),
          event.story,
          (story) => ({
            ...withoutOtherTests(
              afterEnd(withReplies(withoutDecision(withoutPhase(story)), event), event),
              event.verdict,
            ),
            progress: event.verdict,
            stopReason: event.stopReason,
            summary: event.summary,
            endedAt: event.at,
            conflicts: story.conflicts + (event.conflicts === undefined ? 0 : 1),
            ...(event.commit === undefined ? {} : { commit: event.commit }),
            ...(event.held === undefined ? {} : { held: event.held, ...guardedBy(event.held, story) }),
          }),
        ),
        tip: event.commit ?? state.tip,
      };
      return event.commit === undefined ? ended : noteCommit(ended, event.story);
    }
    case 'tests.locked': {
      const { base, commit, from: attempt = event.attempt } = event;
      const keptTests = { ...lockedTestsOf(event), base, commit, attempt };
      return withStory(next, event.story, (story) => ({ ...withNoted(story, event), keptTests }));
    }
    case 'setup.ended':
    case 'gate.ended': {
      if (event.exitCode === 0 || event.interrupted) return next;
      const { log: failedLog, command: failedCommand, failed } = event;
      return withStory(next, event.story, (story) => ({
        ...omit(story, 'failedTests'),
        failedLog,
        failedCommand,
        ...(failed && { failedTests: { gate: failedCommand, ...failed } }),
      }));
    }
    case 'snapshot.started':
      return { ...next, snapshot: { state: 'building', story: event.story } };
    case 'snapshot.used':
      return omit(next, 'snapshot');
    case 'snapshot.refused':
      return { ...next, snapshot: { state: 'refused', story: event.story, reason: event.reason } };
    case 'story.disturbed':
    case 'retry.scheduled':
    case 'breaker.held':
      return withStory(next, event.story, (story) => foldFailure(story, event));
    case 'story.postponed':
      return withStory(next, event.story, (story) => postponeStory(story, event));
    case 'breaker.opened':
      return { ...next, breaker: event.reason };
    case 'breaker.reset':
      return resetBreaker(next, event.key);
    case 'approval.given':
    case 'story.approved':
    case 'story.rejected':
      return decideHeld(next, event);
    case 'run.reconfigured': {
      const { by, at, set, change, attempts } = event;
      return {
        ...next,
        reconfigured: [...(state.reconfigured ?? []), { by, at, set }],
        overrides: { ...state.overrides, ...change },
        ...(attempts !== undefined && { maxAttempts: attempts }),
      };
    }
    case 'run.paused':
    case 'run.resumed':
    case 'run.retried':
    case 'run.replanned':
    case 'run.approved':
    case 'run.rejected':
    case 'feedback.given':
    case 'story.answered':
    case 'question.expired':
    case 'story.cancelled':
      return applyControlEvent(event.type === 'run.retried' ? withoutBreaker(next) : next, event);
    case 'agent.listens':
      return withStory(next, event.story, (story) => ({ ...story, takesMessages: event.when ?? 'turn' }));
    case 'message.sent':
      return withStory(next, event.story, (story) => withMessage(story, event));
    case 'message.delivered':
      return withStory(next, event.story, (story) => withShown(story, event));
    case 'story.stopped':
    case 'story.returned':
      return withStory(next, event.story, (story) => withoutStart(withoutPhase(story)));
    case 'pull.opened':
    case 'pull.closed':
    case 'pull.requested':
      return { ...next, ...foldPulls(next, event) };
    default:
      return 'attempt' in event && isNoted(event)
        ? withStory(next, event.story, (story) => withNoted(story, event))
        : next;
  }
}

/** Resets a breaker; a run that ended because of it is reopened. */
function resetBreaker(state: RunState, key: string): RunState {
  if (key !== 'run') return { ...state, stories: state.stories.map((story) => stopWaitingFor(story, key)) };
  return withoutBreaker(state.stopReason === 'CIRCUIT_OPEN' ? reopenRun(state) : state);
}

/** Applies a decision on a held commit; one on any other commit is ignored. Reopens an ended run. */
function decideHeld(state: RunState, event: StoryDecision): RunState {
  const waiting = state.stories.find(({ id }) => id === event.story)?.held?.commit;
  if (waiting !== event.commit) return state;
  const decided = withStory(reopenRun(state), event.story, (story) => decideStory(withoutDecision(story), event));
  if (event.type !== 'story.approved') return decided;
  return noteCommit({ ...withoutLanded(decided), tip: event.commit }, event.story);
}

/** Keeps what a person should know of the commit of a story that has landed: the next attempt replaces it in the story. */
function noteCommit(state: RunState, id: string): RunState {
  const story = state.stories.find((each) => each.id === id);
  if (story?.commit === undefined || findStoryFindings(story).length === 0) return state;
  const fields = (['id', 'commit', 'confirmed', ...FINDINGS] as const).filter((key) => story[key] !== undefined);
  const noted = Object.fromEntries(fields.map((key) => [key, story[key]])) as unknown as NotedCommit;
  return { ...state, noted: [...(state.noted ?? []), noted] };
}

type StoryDecision = JournalEvent & { type: 'approval.given' | 'story.approved' | 'story.rejected' };

function decideStory(story: StoryState, event: StoryDecision): StoryState {
  const { commit, at: endedAt } = event;
  switch (event.type) {
    case 'approval.given':
      return { ...story, progress: 'pending', approved: { commit, by: event.by } };
    case 'story.approved':
      return { ...story, progress: 'passed', stopReason: 'SUCCESS', commit, confirmed: true, endedAt };
    case 'story.rejected':
      return { ...story, progress: 'failed', stopReason: 'APPROVAL_DENIED', summary: event.reason, endedAt };
  }
}

/** Ends a run. If a user aborted it, stories that are running or waiting for approval are cancelled. */
function endRun(state: RunState, { at, stopReason, detail, story }: JournalEvent & { type: 'run.ended' }): RunState {
  const end = { endedAt: at, stopReason, detail, ...(story !== undefined && { decisive: story }) };
  const ended: RunState = { ...omit(state, 'paused', 'decisive'), status: 'ended', ...end };
  const stopped = state.stories.map((each) => omit(withoutWaiting(each), 'takesMessages'));
  if (stopReason !== 'USER_ABORT') return { ...ended, stories: stopped };
  const stories = stopped.map((story) =>
    story.progress === 'in_progress' || story.held !== undefined || story.approved !== undefined
      ? markCancelled(story, detail, at)
      : story,
  );
  return { ...ended, stories };
}

/** After a new commit, the landed branch no longer includes everything. */
function withoutLanded(state: RunState): RunState {
  return omit(state, 'landed');
}

function withoutUnmarked(state: RunState): RunState {
  return omit(state, 'unmarked');
}

/** Adds what an event says about models to the usage of the run. */
function countUsage(state: RunState, event: JournalEvent): RunState {
  if (!('attempt' in event)) return state;
  const story = state.stories.find(({ id }) => id === event.story);
  // The last response of an attempt can arrive when the next one runs.
  const isCurrent = event.type === 'story.started' || event.attempt === story?.attempts;
  const isMetered = isCurrent && story?.metered === true;
  const counted = countedUsage(event, isMetered);
  const next = counted === undefined ? state : { ...state, usage: addUsage(state.usage, counted.usage) };
  const metered = isMeteredAfter(event, isMetered);
  if (!isCurrent || metered === isMetered) return next;
  return withStory(next, event.story, (story) => (metered ? { ...story, metered } : omit(story, 'metered')));
}

function withoutPhase(story: StoryState): StoryState {
  return omit(story, 'phase', 'phaseAt', 'attemptAt', 'awaits', 'takesMessages');
}

function withoutFindings(story: StoryState): StoryState {
  return omit(withoutNoted(story, 'start'), 'confirmed', 'failedLog', 'failedCommand', 'failedTests');
}

/** A failure names the problem with its tests itself; another story has no failed tests. */
function withoutOtherTests(story: StoryState, verdict: Verdict): StoryState {
  return verdict === 'failed' ? omit(story, 'testProblems') : omit(story, 'failedTests');
}

/** The paths for which a commit is held; those with possible secrets have a finding of their own. */
function guardedBy({ paths }: HeldCommit, { suspects = [] }: StoryState): Pick<StoryState, 'guarded'> {
  const guarded = paths.filter((path) => !suspects.some((suspect) => suspect.path === path));
  return guarded.length === 0 ? {} : { guarded };
}

function withoutDecision(story: StoryState): StoryState {
  return omit(story, 'held', 'approved');
}

function withStory(state: RunState, id: string, change: (story: StoryState) => StoryState): RunState {
  return { ...state, stories: state.stories.map((story) => (story.id === id ? change(story) : story)) };
}

/**
 * The story with the question that an attempt ended with, and the work that the next one continues with. A commit that
 * landed or is held contains that work.
 */
function withReplies(story: StoryState, event: JournalEvent & { type: 'story.ended' }): StoryState {
  const { verdict, held, left, question, attempt } = event;
  const asking = { ...omit(story, 'question'), ...(question && { question }) };
  if (left !== undefined) return { ...asking, kept: { commit: left, attempt } };
  return verdict === 'passed' || held !== undefined ? omit(asking, 'kept') : asking;
}
