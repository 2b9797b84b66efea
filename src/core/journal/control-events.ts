import { createStories } from '../run/initial-state.ts';
import { isIn, type StoryProgress } from '../run/progress.ts';
import type { AnsweredQuestion } from '../run/questions.ts';
import { isDone, omit, type RunState, type StoryState } from '../run/state.ts';
import type { JournalEvent } from './events.ts';

/** Events by which users control a run. */
type ControlEvent = JournalEvent & {
  type:
    | 'run.paused'
    | 'run.resumed'
    | 'run.retried'
    | 'run.replanned'
    | 'run.approved'
    | 'run.rejected'
    | 'feedback.given'
    | 'story.answered'
    | 'question.expired'
    | 'story.cancelled';
};

/** Returns the state after a user's command. */
export function applyControlEvent(state: RunState, event: ControlEvent): RunState {
  switch (event.type) {
    case 'run.paused':
      return { ...state, paused: { by: event.by, at: event.at, now: event.now } };
    case 'run.resumed':
      return { ...omit(state, 'paused'), askedAt: event.at };
    case 'run.retried': {
      const reset = (story: StoryState) => resetForRetry(event.newTests ? omit(story, 'keptTests') : story);
      const stories = state.stories.map((story) => (event.stories.includes(story.id) ? reset(story) : story));
      return { ...reopenRun(omit(state, 'paused')), stories, askedAt: event.at };
    }
    case 'run.replanned':
      return replan(state, event);
    case 'run.approved':
      return { ...state, decision: { verdict: 'approved', by: event.by, tip: event.tip } };
    case 'run.rejected': {
      const { by, tip, reason } = event;
      return { ...state, decision: { verdict: 'rejected', by, tip, reason } };
    }
    case 'story.answered':
      return {
        ...reopenRun(state),
        stories: state.stories.map((story) => (story.id === event.story ? answerQuestion(story, event) : story)),
        askedAt: event.at,
      };
    case 'feedback.given':
      return {
        ...reopenRun(state),
        stories: state.stories.map((story) => (story.id === event.story ? takeFeedback(story, event) : story)),
        askedAt: event.at,
      };
    case 'question.expired':
      return {
        ...reopenRun(state),
        stories: state.stories.map((story) => (story.id === event.story ? expire(story, event) : story)),
      };
    case 'story.cancelled':
      return {
        ...state,
        stories: state.stories.map((story) =>
          story.id === event.story ? markCancelled(story, event.why ?? `cancelled by ${event.by}`, event.at) : story,
        ),
      };
  }
}

/** Returns an ended run to the queue; any other run is returned as it is. */
export function reopenRun(state: RunState): RunState {
  if (state.status !== 'ended') return state;
  return { ...omit(state, 'endedAt', 'stopReason', 'detail', 'decisive'), status: 'queued' };
}

/** Marks a story as cancelled, whatever its progress was. */
export function markCancelled(story: StoryState, summary: string, at: string): StoryState {
  const ended = omit(omitOpenWork(story), 'kept');
  return { ...ended, progress: 'cancelled', stopReason: 'USER_ABORT', summary, endedAt: at };
}

/**
 * Resets a story for a retry with all of its attempts; the last failure is kept as a hint for the next attempt. A story
 * that waits for an infrastructure retry keeps its current attempt.
 */
function resetForRetry(story: StoryState, to: StoryProgress = 'pending'): StoryState {
  const isInterrupted = story.progress === 'in_progress' && story.waiting !== undefined;
  const open = omit(omitOpenWork(story), 'endedAt', 'failures', 'lastFailure', 'waiting', 'waitedMs', 'starts');
  const forgiven = story.attempts - story.conflicts - (isInterrupted ? 1 : 0);
  const progress = isInterrupted ? 'in_progress' : to;
  const reset: StoryState = { ...open, progress, forgiven };
  return story.stopReason === 'USER_ABORT' ? omit(reset, 'stopReason', 'summary') : reset;
}

/** The story with the answer to its question, and fresh attempts. */
function answerQuestion(
  story: StoryState,
  { attempt, text, by, at, option, default: isDefault }: ControlEvent & { type: 'story.answered' },
): StoryState {
  const { options, cause } = story.question ?? {};
  const answer: AnsweredQuestion = {
    ...{ attempt, question: story.summary ?? '', text, by, at },
    ...(options !== undefined && { options }),
    ...(cause !== undefined && { cause }),
    ...(option !== undefined && { option }),
    ...(isDefault && { default: isDefault }),
  };
  return { ...omit(resetForRetry(story), 'question'), answered: [...(story.answered ?? []), answer] };
}

/** The story after its question was not answered in time. It is not retried. */
function expire(story: StoryState, { at, then }: ControlEvent & { type: 'question.expired' }): StoryState {
  const summary = `not answered in time: ${story.summary ?? ''}`;
  const asked = omit(story, 'question');
  switch (then) {
    case 'skip':
      return markCancelled(asked, summary, at);
    case 'fail':
      return { ...asked, progress: 'failed', summary, endedAt: at, lastFailure: { class: 'story', rule: 'halt' } };
  }
}

/** The story with feedback on its commit, and fresh attempts. A commit that has landed is part of their base. */
function takeFeedback(story: StoryState, event: ControlEvent & { type: 'feedback.given' }): StoryState {
  const { attempt, commit, text, comments, by, source, author, url } = event;
  const review = source && { source, ...(author !== undefined && { author }), ...(url !== undefined && { url }) };
  const given = { attempt, commit, text, comments, by, ...review };
  const kept = story.held === undefined ? {} : { kept: { commit, attempt } };
  const open = omit(resetForRetry(story), 'hint', 'kept', 'stopReason', 'summary');
  return { ...open, ...kept, feedback: [...(story.feedback ?? []), given] };
}

/**
 * Keeps passed stories and skips removed ones; the order is that of the new PRD. What it has as done or left out is so. The
 * others keep their state, which may be the work of a person, unless their text has changed.
 */
function replan(
  state: RunState,
  { by, prd, prdPath, changed, choices }: ControlEvent & { type: 'run.replanned' },
): RunState {
  const removed = new Map(state.stories.map((story) => [story.id, story]));
  const kept = createStories(prd, state.selected).map((story): StoryState => {
    const known = removed.get(story.id);
    removed.delete(story.id);
    if (known === undefined) return story;
    const updated = { ...known, title: story.title, dependsOn: story.dependsOn };
    if (isDone(known)) return updated;
    if (isDone(story) || isIn('out', story)) return { ...updated, progress: story.progress };
    if (!changed.includes(story.id) && known.progress !== 'skipped') return updated;
    const asked = changed.includes(story.id) ? omit(updated, 'keptTests', 'kept') : updated;
    return resetForRetry(asked, story.progress);
  });
  const skipped = [...removed.values()].map((story): StoryState =>
    isDone(story) ? story : { ...omitOpenWork(story), progress: 'skipped' },
  );
  const replannedBy = [...new Set([...(state.replannedBy ?? []), by])];
  const overrides = choices && { overrides: { ...state.overrides, ...choices } };
  return { ...state, stories: [...kept, ...skipped], project: prd.project, prdPath, replannedBy, ...overrides };
}

/** Removes the running phase and any pending approval. */
function omitOpenWork(story: StoryState): StoryState {
  return omit(story, 'phase', 'phaseAt', 'attemptAt', 'takesMessages', 'held', 'approved');
}
