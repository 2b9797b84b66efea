import { HaloError } from '../../core/failure/errors.ts';
import { JOURNAL_VERSION, type JournalEntry } from '../../core/journal/events.ts';
import { applyEvent } from '../../core/journal/fold-run.ts';
import { failedNeeds, needsText } from '../../core/run/run-dependencies.ts';
import { isQuestion } from '../../core/run/questions.ts';
import { storyOf, type RunState, type StoryState } from '../../core/run/state.ts';
import { printableShellWord } from '../../core/text/safe-text.ts';
import { planEnd } from '../run/end-run.ts';
import { defined } from '../../lib/guards.ts';

/** Throws STEER_REFUSED for a run that has ended; the hint names an alternative. */
export function assertNotEnded(state: RunState, verb: 'pause' | 'resume' | 'cancel'): void {
  const { runId, status, stopReason = 'no reason' } = state;
  if (status !== 'ended') return;
  throw refused(`Run ${runId} has ended with ${stopReason}: there is nothing to ${verb}.`, endedHint(state, verb));
}

/** Throws STEER_REFUSED for a run that was refused at submit: its base commit was never fetched. */
export function assertBegun({
  runId,
  refused: never,
  stopReason,
}: Pick<RunState, 'runId' | 'refused' | 'stopReason'>): void {
  if (never === undefined) return;
  throw refused(
    `Run ${runId} was refused with ${stopReason ?? 'no reason'} before it started: it cannot continue.`,
    `Fix the reported problem, then start it as a new run with \`halo run --resume ${runId}\`.`,
  );
}

/** Throws STEER_REFUSED for the run of a task: only `halo task` writes what becomes of it into the tasks file. */
export function assertNotTask({ runId, task, status, prdPath }: RunState): void {
  if (task === undefined) return;
  const first = status === 'ended' ? '' : `Cancel it with \`halo cancel ${runId}\`, then r`;
  throw refused(
    `Run ${runId} is of a task in ${prdPath}: if it continued, nothing would update that file.`,
    `${first === '' ? 'R' : first}un \`halo task\` to start the task again.`,
  );
}

/** A story that waits for approval lands only by an approval. */
function endedHint(state: RunState, verb: 'pause' | 'resume' | 'cancel'): string {
  const { runId, stories } = state;
  const waits = stories.find(({ held }) => held !== undefined);
  if (waits !== undefined && verb === 'cancel')
    return `Reject ${waits.id} with \`halo reject\`: it is waiting for approval.`;
  if (waits !== undefined)
    return `Decide on ${waits.id} with \`halo approve\` or \`halo reject\`: it is waiting for approval.`;
  const asks = stories.find(isQuestion);
  if (asks !== undefined && verb === 'resume')
    return `Run \`halo answer ${runId} --story ${printableShellWord(asks.id)} "…"\` to answer its question, or \`halo resume ${runId} --replan\` after changing the PRD.`;
  const isOpen = stories.some((story) => isRetryable(story) || story.progress === 'pending');
  if (isOpen && verb !== 'cancel') return `Run \`halo retry ${runId}\` to reopen it.`;
  return `Run \`halo status ${runId}\` to see the result.`;
}

/** The story with this id. Throws STORY_NOT_FOUND, and STEER_REFUSED if it cannot be retried. */
export function retryableStory(state: RunState, storyId: string): StoryState {
  const story = storyOf(state, storyId);
  if (isRetryable(story)) return story;
  if (story.held !== undefined) throw refused(`Story ${story.id} is waiting for approval.`, approveHint(state));
  const comesLater = story.progress === 'pending' && state.status === 'ended';
  const hint = comesLater
    ? `Run \`halo retry ${state.runId}\` to retry the whole run.`
    : `Run \`halo status ${state.runId}\` to see its state.`;
  throw refused(`Story ${story.id} ${describeProgress(story)}: there is nothing to retry.`, hint);
}

/** The progress of a story, as a predicate for a sentence. */
export function describeProgress({ progress }: StoryState): string {
  switch (progress) {
    case 'passed':
      return 'has landed';
    case 'done':
      return 'was done before';
    case 'pending':
      return 'has not started';
    case 'in_progress':
    case 'failed':
    case 'skipped':
    case 'cancelled':
    case 'needs_human':
      return `is ${progress.replace('_', ' ')}`;
  }
}

/** Whether a retry restarts the story, or ends its wait. */
export function isRetryable({ progress, held, waiting }: StoryState): boolean {
  if (progress === 'in_progress') return waiting !== undefined;
  if (progress === 'pending') return waiting?.model !== undefined;
  return progress === 'failed' || progress === 'cancelled' || (progress === 'needs_human' && held === undefined);
}

/** The error message of a refused retry. */
export function nothingToRetry({ runId, stopReason }: RunState): string {
  return `Run ${runId} has ended with ${stopReason ?? 'no reason'} and has no open story: there is nothing to retry.`;
}

/** Throws STEER_REFUSED if no story could start after a retry, so that the run would end again immediately. */
export function assertCanContinue(state: RunState, retried: JournalEntry): void {
  const after = applyEvent(state, { v: JOURNAL_VERSION, seq: state.seq + 1, at: '', ...retried });
  const end = after === undefined ? undefined : planEnd(after);
  if (end !== undefined)
    throw refused(`Nothing in run ${state.runId} can continue: ${end.detail.replace(/\.$/, '')}.`, approveHint(state));
}

/** The answer to a retry of an open run without failed stories. */
export function nothingFailed(state: RunState): string {
  const { runId, paused } = state;
  if (paused !== undefined) return `The run is paused and no story has failed: \`halo resume ${runId}\` resumes it.`;
  const [need] = failedNeeds(state);
  if (need === undefined) return `No story has failed; the run is ${needsText(state) ?? 'in progress'}.`;
  return `The run is ${needsText(state) ?? ''}. Retry that run first: \`halo retry ${need.run}\`.`;
}

/** What to do instead of a command that does not apply. */
export function approveHint({ runId, stories }: RunState): string {
  const waits = stories.some(({ held }) => held !== undefined);
  return waits
    ? 'Decide on it with `halo approve` or `halo reject`.'
    : `Run \`halo status ${runId}\` to see its state.`;
}

/** A STEER_REFUSED. */
export function refused(message: string, hint?: string): HaloError {
  return new HaloError('STEER_REFUSED', message, defined({ hint }));
}
