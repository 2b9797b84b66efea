import { addUsage } from '../agent.ts';
import { cancelled, reopened, steer } from '../control.ts';
import type { JournalEvent } from './events.ts';
import {
  afterEnd,
  afterStart,
  countForBreaker,
  foldFailure,
  waitNoMore,
  withoutWaiting,
  withoutStart,
  withoutBreaker,
} from '../fold-failure.ts';
import { changeNeed } from '../run/run-dependencies.ts';
import { createState, createStories } from '../run/initial-state.ts';
import { joinRestored } from '../review/restored-paths.ts';
import type { RunState, StoryState } from '../run-state.ts';

/** Folds a run's events, in order. The first one is `run.created`. */
export function foldRun(events: Iterable<JournalEvent>): RunState | undefined {
  let state: RunState | undefined;
  for (const event of events) state = applyEvent(state, event);
  return state;
}

/** The state after one more event; the state given is not changed. */
export function applyEvent(state: RunState | undefined, event: JournalEvent): RunState | undefined {
  if (event.type === 'run.created') return createState(event);
  if (state === undefined) return undefined;
  const next = { ...state, seq: event.seq };
  switch (event.type) {
    case 'need.changed':
      return changeNeed(next, event);
    case 'run.started': {
      const { channel, at } = event;
      return { ...next, status: 'running', startedAt: state.startedAt ?? at, ...(channel && { channel }) };
    }
    case 'run.claimed':
      return { ...next, owner: event.owner, ownedAt: event.at };
    case 'run.ended':
      return endRun(next, event);
    case 'run.landed':
      return { ...next, landed: { branch: event.branch, to: event.to } };
    case 'marks.failed':
      return { ...next, unmarked: { stories: event.stories, reason: event.reason } };
    case 'marks.caught_up':
      return withoutUnmarked(next);
    case 'story.started':
      return {
        ...withStory(next, event.story, (story) => ({
          ...afterStart(withoutFindings(story), event),
          progress: 'in_progress',
          attempts: event.attempt,
          epoch: event.epoch,
          base: event.base,
          startedAt: story.startedAt ?? event.at,
        })),
        epoch: event.epoch,
      };
    case 'phase.started':
      // What it adds is found out anew by each import.
      return withStory(next, event.story, (story) => ({
        ...(event.phase === 'import' ? withoutAdditions(story) : story),
        phase: event.phase,
      }));
    case 'model.used':
      return {
        ...withStory(next, event.story, (story) => ({ ...story, metered: true })),
        usage: addUsage(state.usage, event.usage),
      };
    case 'model.paused':
      return { ...next, modelPause: { model: event.model, why: event.why, until: event.until } };
    case 'story.ended':
      return {
        ...withStory(
          countForBreaker(event.commit === undefined ? next : withoutLanded(next), event),
          event.story,
          (story) => ({
            ...afterEnd(withoutDecision(withoutPhase(story)), event),
            progress: event.verdict,
            stopReason: event.stopReason,
            summary: event.summary,
            endedAt: event.at,
            conflicts: story.conflicts + (event.conflicts === undefined ? 0 : 1),
            ...(event.commit === undefined ? {} : { commit: event.commit }),
            ...(event.held === undefined ? {} : { held: event.held }),
          }),
        ),
        tip: event.commit ?? state.tip,
        // The sum of what is counted already, unless a cassette answered.
        usage: isMetered(state, event.story) ? state.usage : addUsage(state.usage, event.usage),
      };
    case 'tests.compared': {
      const { before, after, removed, skipped, emptied } = event;
      const tests = { before, after, removed, skipped, emptied };
      return withStory(next, event.story, (story) => ({ ...story, tests }));
    }
    case 'tree.restored':
      return withStory(next, event.story, (story) => ({ ...story, restored: joinRestored(story.restored, event) }));
    case 'hidden.added':
      return withStory(next, event.story, (story) => ({ ...story, hidden: event.hidden }));
    case 'secrets.suspected': {
      const { suspects } = event;
      return withStory(next, event.story, (story) => ({
        ...story,
        suspects: [...(story.suspects ?? []), ...suspects],
      }));
    }
    case 'setup.ended':
    case 'gate.ended':
      if (event.exitCode === 0) return next;
      return withStory(next, event.story, (story) => ({ ...story, failedLog: event.log }));
    case 'story.disturbed':
    case 'story.returned':
    case 'retry.scheduled':
    case 'breaker.held':
      return withStory(next, event.story, (story) => foldFailure(story, event));
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
    case 'story.cancelled':
      return steer(event.type === 'run.retried' ? withoutBreaker(next) : next, event, createStories);
    case 'story.stopped':
      return {
        ...withStory(next, event.story, (story) => withoutStart(withoutPhase(story))),
        usage: addUsage(state.usage, event.usage),
      };
    case 'phase.ended':
    case 'agent.activity':
    case 'network.asked':
    case 'gate.started':
    case 'story.merged':
    case 'note.failed':
    case 'criteria.claimed':
      return next;
  }
}

/** A run that had ended for its breaker goes on. */
function resetBreaker(state: RunState, key: string): RunState {
  if (key !== 'run') return { ...state, stories: state.stories.map((story) => waitNoMore(story, key)) };
  return withoutBreaker(state.stopReason === 'CIRCUIT_OPEN' ? reopened(state) : state);
}

/** A decision counts once, and only on the commit that it was made on. Both let a run that ended go on. */
function decideHeld(state: RunState, event: Decision): RunState {
  const waiting = state.stories.find(({ id }) => id === event.story)?.held?.commit;
  if (waiting !== event.commit) return state;
  const decided = withStory(reopened(state), event.story, (story) => decideStory(withoutDecision(story), event));
  return event.type === 'story.approved' ? { ...withoutLanded(decided), tip: event.commit } : decided;
}

type Decision = JournalEvent & { type: 'approval.given' | 'story.approved' | 'story.rejected' };

function decideStory(story: StoryState, event: Decision): StoryState {
  const { commit, at: endedAt } = event;
  switch (event.type) {
    case 'approval.given':
      return { ...story, progress: 'pending', approved: { commit, by: event.by } };
    case 'story.approved':
      return { ...story, progress: 'passed', stopReason: 'SUCCESS', commit, endedAt };
    case 'story.rejected':
      return { ...story, progress: 'failed', stopReason: 'APPROVAL_DENIED', summary: event.reason, endedAt };
  }
}

/** Nothing works on a run that a person ended, and nothing of it waits for them any more. */
function endRun(state: RunState, { at, stopReason, detail }: JournalEvent & { type: 'run.ended' }): RunState {
  const ended: RunState = { ...state, status: 'ended', endedAt: at, stopReason, detail };
  delete ended.paused;
  const atRest = state.stories.map(withoutWaiting);
  if (stopReason !== 'USER_ABORT') return { ...ended, stories: atRest };
  const stories = atRest.map((story) =>
    story.progress === 'in_progress' || story.held !== undefined || story.approved !== undefined
      ? cancelled(story, detail, at)
      : story,
  );
  return { ...ended, stories };
}

/** What was taken over was not all. */
function withoutLanded(state: RunState): RunState {
  const copy = { ...state };
  delete copy.landed;
  return copy;
}

function withoutUnmarked(state: RunState): RunState {
  const copy = { ...state };
  delete copy.unmarked;
  return copy;
}

function isMetered(state: RunState, id: string): boolean {
  return state.stories.find((story) => story.id === id)?.metered === true;
}

function withoutPhase(story: StoryState): StoryState {
  const copy = { ...story };
  delete copy.phase;
  delete copy.metered;
  return copy;
}

function withoutFindings(story: StoryState): StoryState {
  const copy = { ...story };
  delete copy.restored;
  delete copy.failedLog;
  return copy;
}

function withoutAdditions(story: StoryState): StoryState {
  const copy = { ...story };
  delete copy.hidden;
  delete copy.suspects;
  return copy;
}

function withoutDecision(story: StoryState): StoryState {
  const copy = { ...story };
  delete copy.held;
  delete copy.approved;
  return copy;
}

function withStory(state: RunState, id: string, change: (story: StoryState) => StoryState): RunState {
  return { ...state, stories: state.stories.map((story) => (story.id === id ? change(story) : story)) };
}
