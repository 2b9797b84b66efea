import { HaloError } from '../core/failure/errors.ts';
import { JOURNAL_VERSION, type JournalEntry } from '../core/journal/events.ts';
import { applyEvent } from '../core/journal/fold-run.ts';
import { failedNeeds, needsText } from '../core/run/run-dependencies.ts';
import type { RunState, StoryState } from '../core/run-state.ts';
import { planEnd } from './run/end-run.ts';
import { findStory } from './find-story.ts';

/** Throws STEER_REFUSED for a run that has ended, and says what a person can do about it instead. */
export function refuseEnded(state: RunState, verb: 'pause' | 'resume' | 'cancel'): void {
  const { runId, status, stopReason = 'no reason' } = state;
  if (status !== 'ended') return;
  throw refused(`Run ${runId} has ended with ${stopReason}: there is nothing to ${verb}.`, endedHint(state, verb));
}

/** Of a run that was refused, not even the base commit was brought here. */
export function refuseNeverBegun({
  runId,
  refused: never,
  stopReason,
}: Pick<RunState, 'runId' | 'refused' | 'stopReason'>): void {
  if (never === undefined) return;
  throw refused(
    `Run ${runId} was refused with ${stopReason ?? 'no reason'} before it began: it cannot go on.`,
    'Mend what it says, then start anew with `halo run`.',
  );
}

/** A story that waits for a word lands only by that word. */
function endedHint(state: RunState, verb: 'pause' | 'resume' | 'cancel'): string {
  const { runId, stories } = state;
  const waits = stories.find(({ held }) => held !== undefined);
  if (waits !== undefined && verb === 'cancel') return `${waits.id} waits for approval: \`halo reject\` says no to it.`;
  if (waits !== undefined)
    return `${waits.id} waits for approval: decide on it with \`halo approve\` or \`halo reject\`.`;
  const isOpen = stories.some((story) => isStuck(story) || story.progress === 'pending');
  if (isOpen && verb !== 'cancel') return `\`halo retry ${runId}\` lets it go on.`;
  return `\`halo status ${runId}\` shows what it came to.`;
}

/** The story, when a person can have it tried again. Throws STORY_NOT_FOUND, STEER_REFUSED. */
export function requireStuck(state: RunState, storyId: string): StoryState {
  const story = findStory(state, storyId);
  if (isStuck(story)) return story;
  if (story.held !== undefined) throw refused(`Story ${story.id} waits for approval.`, approveHint(state));
  const comesLater = story.progress === 'pending' && state.status === 'ended';
  const hint = comesLater
    ? `\`halo retry ${state.runId}\` lets the whole run go on.`
    : `\`halo status ${state.runId}\` shows how it stands.`;
  throw refused(`Story ${story.id} ${progressText(story)}: there is nothing to retry.`, hint);
}

/** How a story stands, for the middle of a sentence. */
export function progressText({ progress }: StoryState): string {
  switch (progress) {
    case 'passed':
      return 'has landed';
    case 'done':
      return 'was done before';
    case 'pending':
      return 'has not begun';
    case 'in_progress':
    case 'failed':
    case 'skipped':
    case 'cancelled':
    case 'needs_human':
      return `is ${progress.replace('_', ' ')}`;
  }
}

/** What a retry does anew, or at once. */
export function isStuck({ progress, held, waiting }: StoryState): boolean {
  if (progress === 'in_progress') return waiting !== undefined;
  return progress === 'failed' || progress === 'cancelled' || (progress === 'needs_human' && held === undefined);
}

/** The sentence of a refused retry. */
export function nothingToRetry({ runId, stopReason }: RunState): string {
  return `Run ${runId} has ended with ${stopReason ?? 'no reason'} and no story of it is open: there is nothing to retry.`;
}

/** Throws STEER_REFUSED when nothing could start after a retry, so that the run would only end again. */
export function refuseVain(state: RunState, retried: JournalEntry): void {
  const after = applyEvent(state, { v: JOURNAL_VERSION, seq: state.seq + 1, at: '', ...retried });
  const end = after === undefined ? undefined : planEnd(after);
  if (end !== undefined) throw refused(`Nothing of run ${state.runId} can go on: ${end.detail}.`, approveHint(state));
}

/** What to say to a retry of an open run that has nothing to retry. */
export function nothingFailed(state: RunState): string {
  const { runId, paused } = state;
  if (paused !== undefined)
    return `It is paused, and nothing of it has failed: \`halo resume ${runId}\` lets it go on.`;
  const [need] = failedNeeds(state);
  if (need === undefined) return `Nothing of it has failed; it ${needsText(state) ?? 'is going on'}.`;
  return `It is ${needsText(state) ?? ''}; \`halo retry ${need.run}\` lets that one go on, and this one after it.`;
}

/** What to do when a word has no use. */
export function approveHint({ runId, stories }: RunState): string {
  const waits = stories.some(({ held }) => held !== undefined);
  return waits ? 'Decide on it with `halo approve` or `halo reject`.' : `\`halo status ${runId}\` shows how it stands.`;
}

/** A STEER_REFUSED. */
export function refused(message: string, hint?: string): HaloError {
  return new HaloError('STEER_REFUSED', message, hint === undefined ? {} : { hint });
}
