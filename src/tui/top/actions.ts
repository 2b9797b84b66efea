import type { Operations } from '../../api/operations.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { assertAllowed, canControl, canLand, canMessage, canRetry, type Allowed } from '../../core/run/actions.ts';
import { messageRoute, ROUTE_LABELS } from '../../core/run/messages.ts';
import { isQuestion } from '../../core/run/questions.ts';
import { chooseStory } from '../../core/run/message-target.ts';
import { breakerName } from '../../core/failure/breaker.ts';
import { awaitsDecision, type RunState, type StoryState } from '../../core/run/state.ts';
import { flagsOf, landingChanges, listFlags, type Change, type Confirmation } from '../../core/review/flags.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { ACTION_KEYS } from '../../view/action-keys.ts';
import { missingWorker } from '../../view/waiting.ts';

/** What a user can do with a run or one of its stories. */
export const ACTIONS = [
  'approve',
  'reject',
  'answer',
  'tell',
  'pause',
  'stop',
  'resume',
  'retry',
  'cancel',
  'land',
  'replan',
  'reset',
] as const;
export type ActionName = (typeof ACTIONS)[number];

/** What a user can do with the PRDs of the repository. */
export const PRD_ACTIONS = ['submit', 'create', 'edit'] as const;
export type PrdActionName = (typeof PRD_ACTIONS)[number];

export function isPrdAction(name: string): name is PrdActionName {
  return (PRD_ACTIONS as readonly string[]).includes(name);
}

/** An action with everything that its operation needs. */
export interface Action {
  name: ActionName | PrdActionName;
  /** Empty for an action on a PRD or on a breaker that runs share. */
  runId: string;
  story?: string;
  /** The path of a PRD. */
  prd?: string;
  /** The key of a breaker that runs share. */
  breaker?: string;
  /** What the question shows of the change, for an approval or a landing. */
  confirmation?: Confirmation;
  /** The reason of a rejection, an answer, a message, or the name of a PRD. */
  text?: string;
}

/** An action, or why there is none. The question is about what cannot be taken back; without one, it is done. */
export type Planned = { action: Action; question?: string } | { refusal: string };

/** The reset of a breaker that runs share. */
export function planReset(key: string): { action: Action } {
  return { action: { name: 'reset', runId: '', breaker: key } };
}

/** The action that a key or command means for the selected run or story. The operation has the last word. */
export function planAction(name: ActionName, run: RunState, storyId: string | undefined): Planned {
  const { runId } = run;
  const story = storyId === undefined ? undefined : run.stories.find(({ id }) => id === storyId);
  const perform = (of?: StoryState): { action: Action } => ({ action: { name, runId, ...(of && { story: of.id }) } });
  const ask = (question: string, of?: StoryState): Planned => ({ ...perform(of), question });
  const what = story === undefined ? `run ${runId}` : nameOf(story);
  const allowed = isAllowed(name, run, story?.id);
  // The hints of commands are for a shell; the last line has the keys of what is possible.
  if (allowed !== true) return { refusal: allowed.message };
  switch (name) {
    case 'approve':
      return story !== undefined && isQuestion(story) ? planAnswer(run, story) : planDecision(name, run, story);
    case 'reject':
      return planDecision(name, run, story);
    case 'pause':
      return run.paused === undefined ? perform() : { action: { name: 'resume', runId } };
    case 'stop':
      return ask(`Pause run ${runId} now and interrupt its running stories, without using up an attempt?`);
    case 'resume':
      return run.status === 'ended' ? planAction('retry', run, storyId) : perform();
    case 'retry':
      return perform(story);
    case 'cancel':
      return ask(`Cancel ${what}? ${story === undefined ? 'Nothing of it lands afterwards.' : ''}`.trim(), story);
    case 'land': {
      const { branch } = run.repo;
      const to = branch === undefined ? 'its branch' : safeLine(branch, 60);
      const changes = landingChanges(run);
      return confirming(
        { name, runId },
        { question: `Land run ${runId} on ${to} of ${safeLine(run.repo.source, 100)}?`, changes, commit: run.tip },
      );
    }
    case 'answer':
      return planAnswer(run, story);
    case 'tell':
      return planMessage(run, story);
    case 'reset': {
      if (run.breaker !== undefined) return perform();
      const [shared] = (story === undefined ? run.stories : [story]).flatMap(({ waiting }) => waiting?.breaker ?? []);
      return shared === undefined ? { refusal: `No breaker of run ${runId} is open.` } : planReset(shared);
    }
    case 'replan':
      return ask(`Continue run ${runId} with ${safeLine(run.prdPath, 100)} as it is now?`);
  }
}

/** Whether the action is possible, as far as the state says. Questions and approvals may need a selection first. */
function isAllowed(name: ActionName, run: RunState, storyId: string | undefined): Allowed {
  switch (name) {
    case 'pause':
    case 'stop':
      return canControl(run, 'pause');
    case 'cancel':
      return canControl(run, 'cancel');
    case 'retry':
      return canRetry(run, storyId);
    case 'land':
      return canLand(run);
    case 'approve':
    case 'reject':
    case 'answer':
    case 'tell':
    case 'reset':
    case 'replan':
      return true;
    case 'resume':
      return run.status === 'ended' || run.paused !== undefined || refusedResume(run);
  }
}

function refusedResume({ runId }: RunState): HaloError {
  return new HaloError('CONTROL_REFUSED', `Run ${runId} is not paused.`);
}

function planAnswer(run: RunState, selected: StoryState | undefined): Planned {
  const { runId } = run;
  const asking = selected === undefined ? run.stories.filter(isQuestion) : [selected].filter(isQuestion);
  const [story, ...others] = asking;
  if (story === undefined)
    return {
      refusal:
        selected === undefined ? `No story of run ${runId} asks a question.` : `${nameOf(selected)} asks no question.`,
    };
  if (others.length > 0)
    return { refusal: `${asking.length} stories of run ${runId} ask a question. Open the run and select one.` };
  return { action: { name: 'answer', runId, story: story.id }, question: `Answer ${nameOf(story)}` };
}

/** The question says where the message goes, and is the label of the line for its text. */
function planMessage(run: RunState, selected: StoryState | undefined): Planned {
  try {
    const story = chooseStory(run, selected?.id);
    assertAllowed(canMessage(run, story));
    const question = `${ROUTE_LABELS[messageRoute(story)]}, ${safeLine(story.id, 40)}`;
    return { action: { name: 'tell', runId: run.runId, story: story.id }, question };
  } catch (error) {
    if (!(error instanceof HaloError)) throw error;
    return { refusal: error.code === 'USAGE' ? `${error.message} Open the run and select one.` : error.message };
  }
}

function planDecision(name: 'approve' | 'reject', run: RunState, selected: StoryState | undefined): Planned {
  const { runId } = run;
  const held = run.stories.filter((story) => story.held !== undefined);
  const story =
    selected?.held !== undefined ? selected : selected === undefined && held.length === 1 ? held[0] : undefined;
  const word = name === 'approve' ? 'Approve' : 'Reject';
  if (story?.held !== undefined) {
    const commit = story.held.commit.slice(0, 7);
    const question = `${word} ${commit}, ${nameOf(story)} of run ${runId}?`;
    const action = { name, runId, story: story.id };
    return name === 'reject'
      ? { action, question }
      : ifFlagged(action, { question, changes: [story], commit: story.held.commit });
  }
  if (held.length > 1 && selected === undefined)
    return { refusal: `${held.length} stories of run ${runId} wait for approval. Open the run and select one.` };
  if (awaitsDecision(run) || (selected === undefined && run.status === 'ended' && run.needsApproval === true)) {
    const [action, question] = [{ name, runId }, `${word} the result of run ${runId}?`];
    return name === 'reject'
      ? confirming(action, { question, changes: [], commit: run.tip })
      : ifFlagged(action, { question, changes: landingChanges(run), commit: run.tip });
  }
  const question = selected !== undefined && isQuestion(selected);
  return {
    refusal: question
      ? `${nameOf(selected)} asks a question. Press ${ACTION_KEYS.answer} to answer it.`
      : `Nothing of ${selected === undefined ? `run ${runId}` : nameOf(selected)} is waiting for approval.`,
  };
}

/** Without flags, an approval is done without a question. */
function ifFlagged(action: Action, asked: Parameters<typeof confirming>[1]): Planned {
  const planned = confirming(action, asked);
  return listFlags(asked.changes).length === 0 && 'action' in planned ? { action: planned.action } : planned;
}

/** A question that names what the change is flagged for, which a yes confirms, for this commit. */
function confirming(
  action: Action,
  { question, changes, commit }: { question: string; changes: readonly Change[]; commit: string },
): Planned {
  const flags = listFlags(changes);
  if (flags.length === 0) return { action: { ...action, confirmation: { commit } }, question };
  const found = flags.map(({ text }) => text).join('; ');
  return {
    action: { ...action, confirmation: { confirm: flagsOf(changes), commit } },
    question: `${question.slice(0, -1)}, although ${safeLine(found, 300)}?`,
  };
}

function nameOf({ id, title }: StoryState): string {
  return `${safeLine(id, 40)} (${safeLine(title, 60)})`;
}

/** Executes an action and returns its result as a sentence. Throws what the operation throws. */
export async function executeAction(
  operations: Operations,
  { name, runId, story, text, breaker, confirmation }: Action & { name: ActionName },
): Promise<string> {
  switch (name) {
    case 'approve': {
      const decided = await operations.approve({ runId, story, ...confirmation });
      if (story === undefined) return `Approved the result of run ${runId}.`;
      const then = decided.landed ? 'It has landed.' : 'A worker merges it, runs the gates again and lands it.';
      return `Approved ${safeLine(story)}. ${then}`;
    }
    case 'reject':
      await operations.reject({ runId, story, reason: text });
      return `Rejected ${story === undefined ? `the result of run ${runId}` : safeLine(story)}.`;
    case 'pause':
      return says(operations, operations.pause({ runId, now: false }));
    case 'stop':
      return says(operations, operations.pause({ runId, now: true }));
    case 'resume':
      return says(operations, operations.resume({ runId }));
    case 'answer':
      return says(operations, operations.answer({ runId, story: story ?? '', text: text ?? '' }));
    case 'tell':
      return says(operations, operations.tell({ runId, story: story ?? '', text: text ?? '' }));
    case 'reset': {
      const key = (await operations.resetBreaker({ key: breaker ?? runId })).key;
      return `Closed the breaker of ${safeLine(breakerName(key), 100)}.`;
    }
    case 'replan':
      return says(operations, operations.resume({ runId, replan: {} }));
    case 'retry':
      return says(operations, operations.retry({ runId, story }));
    case 'cancel':
      return says(operations, operations.cancel({ runId, story }));
    case 'land': {
      const { branch, to, pushedTo } = await operations.land({ runId, ...confirmation });
      return `Landed: ${safeLine(branch)} is at ${to.slice(0, 7)}${pushedTo === undefined ? '' : `, pushed to ${safeLine(pushedTo)}`}.`;
    }
  }
}

/** The new state of the run, a note if no worker would continue it, and the warnings. */
async function says(operations: Operations, result: ReturnType<Operations['pause']>): Promise<string> {
  const { says: text, runId, warnings = [] } = await result;
  const view = await operations.getRun({ runId });
  const isOpen = view.state.status !== 'ended' && view.state.paused === undefined;
  const missing = isOpen ? missingWorker(view) : undefined;
  return safeLine([text, ...(missing === undefined ? [] : [`But ${missing}.`]), ...warnings].join(' '), 600);
}
