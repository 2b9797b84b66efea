import { HaloError } from '../failure/errors.ts';
import type { JournalEntry } from '../journal/events.ts';
import { foldEntries } from '../journal/fold-run.ts';
import { MAX_FEEDBACK_ROUNDS } from '../review/feedback.ts';
import { printableShellWord, safeLine } from '../text/safe-text.ts';
import { MAX_MESSAGES } from './messages.ts';
import { planNext } from './plan.ts';
import { hasTrait, isIn, PROGRESS } from './progress.ts';
import { isQuestion } from './questions.ts';
import { commitToReview, isReviewable, openFeedback } from './reviewed-story.ts';
import { failedNeeds, needsText } from './run-dependencies.ts';
import { currentDecision, isDone, isUnfinished, storyOf, type RunState, type StoryState } from './state.ts';

/** True, or the error with which an action of a person is refused: why, and what to do instead. */
export type Allowed = true | HaloError;

/** Throws the error with which an action is refused. */
export function assertAllowed(allowed: Allowed): void {
  if (allowed !== true) throw allowed;
}

/** The first refusal. */
function all(...checks: (() => Allowed)[]): Allowed {
  for (const check of checks) {
    const allowed = check();
    if (allowed !== true) return allowed;
  }
  return true;
}

/** Whether a run can be paused, resumed or cancelled: it has not ended. The hint names an alternative. */
export function canControl(run: RunState, verb: 'pause' | 'resume' | 'cancel'): Allowed {
  const { runId, status, stopReason = 'no reason' } = run;
  if (status !== 'ended') return true;
  return refused(`Run ${runId} has ended with ${stopReason}: there is nothing to ${verb}.`, endedHint(run, verb));
}

/** A story that waits for approval lands only by an approval. */
function endedHint(run: RunState, verb: 'pause' | 'resume' | 'cancel'): string {
  const { runId, stories } = run;
  const waits = stories.find(({ held }) => held !== undefined);
  if (waits !== undefined && verb === 'cancel')
    return `Reject ${waits.id} with \`halo reject\`: it is waiting for approval.`;
  if (waits !== undefined)
    return `Decide on ${waits.id} with \`halo approve\` or \`halo reject\`: it is waiting for approval.`;
  const asks = stories.find(isQuestion);
  if (asks !== undefined && verb === 'resume')
    return `Run \`halo answer ${runId} --story ${printableShellWord(asks.id)} "…"\` to answer its question, or \`halo resume ${runId} --replan\` after changing the PRD.`;
  if (verb !== 'cancel' && canRetry(run) === true) return `Run \`halo retry ${runId}\` to reopen it.`;
  return `Run \`halo status ${runId}\` to see the result.`;
}

/**
 * Whether a run can continue after its end at all. One that was refused at submit has no base commit, the repository of an
 * import is gone, and only `halo task` writes what becomes of its run into the tasks file.
 */
export function canReopen(
  run: Pick<RunState, 'runId' | 'refused' | 'stopReason' | 'scratch' | 'task' | 'status' | 'prdPath'>,
): Allowed {
  const { runId, stopReason = 'no reason', prdPath } = run;
  if (run.refused)
    return refused(
      `Run ${runId} was refused with ${stopReason} before it started: it cannot continue.`,
      `Fix the reported problem, then start it as a new run with \`halo run --resume ${runId}\`.`,
    );
  if (run.scratch && run.status === 'ended') return importGone(runId, refused);
  if (run.task !== true) return true;
  const first = run.status === 'ended' ? 'R' : `Cancel it with \`halo cancel ${runId}\`, then r`;
  return refused(
    `Run ${runId} is of a task in ${prdPath}: if it continued, nothing would update that file.`,
    `${first}un \`halo task\` to start the task again.`,
  );
}

/** Whether a retry of the run restarts the story, or ends its wait. */
export function isRetryable(story: StoryState): boolean {
  const { progress, held, waiting } = story;
  if (progress === 'in_progress') return waiting !== undefined;
  if (progress === 'pending') return waiting?.model !== undefined;
  return hasTrait('retried', story) && held === undefined;
}

/** Whether a retry of the story itself does. */
function isRetryableAlone(story: StoryState): boolean {
  return isRetryable(story) || (isIn('stuck', story) && story.held === undefined);
}

/** Whether a story of an ended run is left to be done, by a retry of the run or of the story itself. */
export function isOpenStory(story: StoryState): boolean {
  return isUnfinished(story) || isRetryableAlone(story);
}

/** Ids of the stories that a retry starts again: one, or all that it can; and those that the end of the run interrupted. */
export function storiesToRetry({ status, stories }: RunState, storyId?: string): string[] {
  const chosen = stories.filter((story) => (storyId === undefined ? isRetryable(story) : story.id === storyId));
  const left = stories.filter(({ progress }) => status === 'ended' && progress === 'in_progress');
  return [...new Set([...chosen, ...left])].map(({ id }) => id);
}

/** Whether a run, or one of its stories, can be retried, so that a story starts. Throws STORY_NOT_FOUND. */
export function canRetry(run: RunState, storyId?: string): Allowed {
  return all(
    () => canReopen(run),
    () => (storyId === undefined ? hasOpenStory(run) : canRetryStory(run, storyOf(run, storyId))),
    () => canContinueAfter(run, { type: 'run.retried', by: '', stories: storiesToRetry(run, storyId) }),
  );
}

function hasOpenStory(run: RunState): Allowed {
  const { runId, status, stories, stopReason = 'no reason' } = run;
  if (status !== 'ended') return stories.some(isRetryable) || refused(nothingFailed(run));
  if (stories.some(isOpenStory)) return true;
  return refused(
    `Run ${runId} has ended with ${stopReason} and has no open story: there is nothing to retry.`,
    otherHint(run),
  );
}

function canRetryStory(run: RunState, story: StoryState): Allowed {
  if (isRetryableAlone(story)) return true;
  if (story.held !== undefined) return refused(`Story ${story.id} is waiting for approval.`, otherHint(run));
  const comesLater = story.progress === 'pending' && run.status === 'ended';
  const hint = comesLater
    ? `Run \`halo retry ${run.runId}\` to retry the whole run.`
    : `Run \`halo status ${run.runId}\` to see its state.`;
  return refused(`Story ${story.id} ${describeProgress(story)}: there is nothing to retry.`, hint);
}

/** Whether a story starts after a decision: otherwise the run would end again immediately. */
export function canContinueAfter(run: RunState, decision: JournalEntry): Allowed {
  const plan = planNext(foldEntries(run, [decision]));
  if (plan.kind !== 'end') return true;
  return refused(`Nothing in run ${run.runId} can continue: ${plan.detail.replace(/\.$/, '')}.`, otherHint(run));
}

/** What a retry of an open run without failed stories finds. */
export function nothingFailed(run: RunState): string {
  const { runId, paused } = run;
  if (paused !== undefined) return `The run is paused and no story has failed: \`halo resume ${runId}\` resumes it.`;
  const [need] = failedNeeds(run);
  if (need === undefined) return `No story has failed; the run is ${needsText(run) ?? 'in progress'}.`;
  return `The run is ${needsText(run) ?? ''}. Retry that run first: \`halo retry ${need.run}\`.`;
}

/** Whether a story asks a question that can be answered. */
export function canAnswer(run: RunState, story: StoryState): Allowed {
  const { runId, stopReason } = run;
  const allowed = canReopen(run);
  if (allowed !== true) return allowed;
  if (story.held !== undefined) return refused(`Story ${story.id} is waiting for approval.`, otherHint(run));
  if (!isQuestion(story)) {
    const given = story.answered?.at(-1);
    const why =
      given === undefined
        ? `${describeProgress(story)}: it asks no question`
        : `was already answered by ${given.by} at ${given.at}`;
    return refused(`Story ${story.id} ${why}.`, `Run \`halo status ${runId}\` to see its state.`);
  }
  if (stopReason !== 'USER_ABORT') return true;
  return refused(`Run ${runId} was cancelled.`, `Run \`halo retry ${runId}\` to reopen it without an answer.`);
}

/** Whether an agent works on a story, or may do so later without an answer or a decision, so that it can get a message. */
export function canMessage(run: RunState, story: StoryState): Allowed {
  const { runId, status } = run;
  const of = `${runId} --story ${printableShellWord(story.id)}`;
  if (story.held !== undefined)
    return refused(
      `Story ${story.id} is waiting for approval: no agent works on it.`,
      `Send it back with \`halo reject ${of} --feedback "…"\`.`,
    );
  if (story.approved !== undefined)
    return refused(`Story ${story.id} was approved by ${story.approved.by}: no agent works on it.`, otherHint(run));
  if (isQuestion(story))
    return refused(`Story ${story.id} asks a question.`, `Answer it with \`halo answer ${of} "…"\`.`);
  if (isDone(story) || isIn('out', story)) {
    const hint =
      story.commit === undefined ? [otherHint(run)] : [`Send it back with \`halo reject ${of} --feedback "…"\`.`];
    return refused(`Story ${story.id} ${describeProgress(story)}: no agent works on it.`, ...hint);
  }
  if ((story.messages ?? []).length >= MAX_MESSAGES)
    return refused(
      `Story ${story.id} has ${MAX_MESSAGES} messages, which is the limit.`,
      `Change its text, and run \`halo resume ${runId} --replan\`.`,
    );
  return status === 'ended' ? canReopen(run) : true;
}

/** Whether the commit of a story can be sent back with feedback. */
export function canSendBack(run: RunState, story: StoryState): Allowed {
  return all(
    () => canReopen(run),
    () => takesFeedback(run, story),
    () => hasCommit(run, story),
  );
}

function takesFeedback(run: RunState, story: StoryState): Allowed {
  const { runId, landed, stopReason } = run;
  if (landed !== undefined)
    return refused(`Run ${runId} is on ${safeLine(landed.branch)} already.`, 'Start a new run for further changes.');
  if (!isReviewable(run)) return refused(`Run ${runId} lands nothing: there is no commit to change.`);
  if (stopReason === 'USER_ABORT')
    return refused(`Run ${runId} was cancelled.`, `Run \`halo retry ${runId}\` to reopen it.`);
  const decision = currentDecision(run);
  if (decision?.verdict === 'approved')
    return refused(`Run ${runId} was approved by ${decision.by}.`, `Reject it first: \`halo reject ${runId}\`.`);
  if (story.approved !== undefined) return refused(`Story ${story.id} was approved by ${story.approved.by}.`);
  const open = openFeedback(story);
  if (open !== undefined)
    return refused(
      `Story ${story.id} has feedback of ${open.author ?? open.by} already, and its next attempt works on it.`,
      'Wait for the commit of that attempt.',
    );
  if ((story.feedback ?? []).length < MAX_FEEDBACK_ROUNDS) return true;
  return refused(
    `Story ${story.id} was sent back with feedback ${MAX_FEEDBACK_ROUNDS} times, which is the limit.`,
    `Change its text, and run \`halo resume ${runId} --replan\`.`,
  );
}

function hasCommit({ runId }: RunState, story: StoryState): Allowed {
  if (commitToReview(story) !== undefined) return true;
  if (isQuestion(story))
    return refused(
      `Story ${story.id} asks a question.`,
      `Answer it with \`halo answer ${runId} --story ${printableShellWord(story.id)} "…"\`.`,
    );
  const why = story.progress === 'passed' ? 'has no commit: it needed no change' : describeProgress(story);
  return refused(
    `Story ${story.id} ${why}: there is no commit to change.`,
    `Run \`halo status ${runId}\` to see its state.`,
  );
}

/** Whether the commit of a story, or the result of a run, can be approved or rejected. */
export function canApprove(run: RunState, story?: StoryState): Allowed {
  const { runId, status, tip, repo, landed, dry } = run;
  const waiting = run.stories.filter(({ held }) => held !== undefined).map(({ id }) => id);
  if (story?.held !== undefined) return true;
  if (story !== undefined)
    return landRefused(
      `Story ${story.id} of run ${runId} is not waiting for approval.`,
      waiting.length === 0
        ? `Run \`halo status ${runId}\` to see its state.`
        : `Use a story that is waiting: ${waiting.join(', ')}.`,
    );
  if (waiting.length > 0)
    return landRefused(
      `Stories of run ${runId} are waiting for approval: ${waiting.join(', ')}.`,
      'Select one with --story.',
    );
  if (status !== 'ended')
    return landRefused(`Run ${runId} has not ended.`, 'Wait for its end, then approve or reject it.');
  const nothing = 'there is nothing to approve or reject.';
  if (dry) return landRefused(`Run ${runId} is a dry run: ${nothing}`);
  if (tip === repo.base) return landRefused(`No story of run ${runId} has passed: ${nothing}`);
  return landed === undefined || landRefused(`Run ${runId} is on ${landed.branch} already: ${nothing}`);
}

/** Whether what a run has landed on its branch can land on that of the user, as far as the run itself decides. */
export function canLand(run: RunState, needsApproval = run.needsApproval === true): Allowed {
  const { runId, status, dry, planning, tip, repo, scratch } = run;
  if (status !== 'ended')
    return landRefused(
      `Run ${runId} has not ended.`,
      `Wait for its end (\`halo logs ${runId} -f\`), or merge the branch halo/${runId} in its current state.`,
    );
  if (planning)
    return landRefused(
      `Run ${runId} made a plan: it has changed nothing.`,
      'Run `halo plan` again; it writes the plan when you confirm.',
    );
  if (dry)
    return landRefused(`Run ${runId} is a dry run: it has changed nothing.`, 'Run the PRD again without --dry-run.');
  if (tip === repo.base)
    return landRefused(
      `No story of run ${runId} has passed: there is nothing to land.`,
      `Run \`halo logs ${runId}\` to see why. To land an earlier run, name it: \`halo ls --repo .\` lists them.`,
    );
  return scratch ? importGone(runId, landRefused) : isApproved(run, { needsApproval });
}

/** Whether no decision prevents that a run lands. `continuedBy`: the run that lands, which started from its result. */
export function isApproved(
  run: RunState,
  { needsApproval, continuedBy }: { needsApproval: boolean; continuedBy?: string },
): Allowed {
  const { runId } = run;
  const decision = currentDecision(run);
  const which = continuedBy === undefined ? '' : `, which run ${continuedBy} continues`;
  if (decision?.verdict === 'rejected')
    return landRefused(
      `${decision.by} rejected the result of run ${runId}${which}: ${decision.reason ?? ''}`,
      `Run \`halo approve ${runId}\` to approve it after all.`,
    );
  if (!needsApproval || decision !== undefined) return true;
  return landRefused(
    `Run ${runId}${which === '' ? '' : `${which},`} is waiting for approval.`,
    `Review it with \`halo diff ${runId}\`, then run \`halo approve ${runId}\`.`,
  );
}

/** Whether there is something to open a pull request for. The server knows whether the repository has a forge. */
export function canOpenPull(run: RunState): Allowed {
  const { runId, landed, tip, repo, dry, scratch } = run;
  const status = `Run \`halo status ${runId}\` to see its state.`;
  if (dry) return landRefused(`Run ${runId} lands nothing: there is nothing to open a pull request for.`);
  if (scratch) return importGone(runId, landRefused);
  if (tip === repo.base)
    return landRefused(`No story of run ${runId} has passed: there is nothing to open a pull request for.`, status);
  if (landed !== undefined)
    return landRefused(`Run ${runId} is on ${safeLine(landed.branch)} already: nothing is left to merge.`, status);
  return isApproved(run, { needsApproval: false });
}

function importGone(runId: string, refuse: typeof refused): HaloError {
  return refuse(
    `Run ${runId} was an import: its temporary repository has been removed.`,
    'Run `halo import` again; it writes the PRD when you confirm.',
  );
}

/** The progress of a story, as a predicate for a sentence. */
export function describeProgress({ progress }: StoryState): string {
  return PROGRESS[progress].says;
}

/** What to do instead of a command that does not apply. */
function otherHint({ runId, stories }: RunState): string {
  const waits = stories.some(({ held }) => held !== undefined);
  return waits
    ? 'Decide on it with `halo approve` or `halo reject`.'
    : `Run \`halo status ${runId}\` to see its state.`;
}

/** A CONTROL_REFUSED. */
export function refused(message: string, hint?: string): HaloError {
  return new HaloError('CONTROL_REFUSED', message, hint === undefined ? {} : { hint });
}

function landRefused(message: string, hint?: string): HaloError {
  return new HaloError('LAND_REFUSED', message, hint === undefined ? {} : { hint });
}
