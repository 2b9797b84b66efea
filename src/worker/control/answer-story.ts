import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import type { ControlResult } from '../../core/run/control-result.ts';
import { isQuestion } from '../../core/run/questions.ts';
import { storyOf, type RunState, type StoryState } from '../../core/run/state.ts';
import { safeText } from '../../core/text/safe-text.ts';
import type { RunKeeper } from '../worker-context.ts';
import { continueRun } from '../run/continue-run.ts';
import { approveHint, assertCanContinue, assertNotTask, describeProgress, refused } from './control-preconditions.ts';
import type { ControlRequest } from './control-run.ts';

const MAX_ANSWER = 8000;

/**
 * Answers the question with which a story ended: the story is started again, with question and answer in its prompt. Safe
 * to repeat. Throws USAGE for an unusable text, STORY_NOT_FOUND, and STEER_REFUSED if the story asks nothing or someone
 * else has answered.
 */
export async function answerStory(
  keeper: RunKeeper,
  steering: ControlRequest,
  { storyId, text }: { storyId: string; text: string },
): Promise<ControlResult> {
  const { runId, by } = steering;
  const answer = toAnswer(text);
  const steered = await keeper.store.transact(runId, (state) => {
    const story = storyOf(state, storyId);
    const said = { runId, stories: [story.id] };
    const given = isQuestion(story) ? undefined : story.answered?.at(-1);
    if (given?.by === by && given.text === answer)
      return { entries: [], result: { ...said, changed: false, says: `Story ${story.id} has this answer already.` } };
    assertNotTask(state);
    assertAsks(state, story);
    const entry: JournalEntry = { type: 'story.answered', story: story.id, attempt: story.attempts, text: answer, by };
    assertCanContinue(state, entry);
    const says = `Story ${story.id} is answered: ${startsWhen(state)}.`;
    return { entries: [entry], result: { ...said, changed: true, says } };
  });
  await continueRun(keeper, steering);
  return steered;
}

/** The text in the form that the journal keeps. */
function toAnswer(text: string): string {
  const answer = safeText(text.replace(/\r\n?/g, '\n')).trim();
  if (answer === '') throw new HaloError('USAGE', 'The answer is empty.', { hint: 'Enter a text.' });
  if (answer.length > MAX_ANSWER)
    throw new HaloError('USAGE', `The answer has ${answer.length} characters; the limit is ${MAX_ANSWER}.`, {
      hint: 'Write a long answer into the PRD, and continue with `halo resume --replan`.',
    });
  return answer;
}

function assertAsks(state: RunState, story: StoryState): void {
  const { runId, stopReason } = state;
  const given = story.answered?.at(-1);
  if (story.held !== undefined) throw refused(`Story ${story.id} is waiting for approval.`, approveHint(state));
  if (!isQuestion(story)) {
    const why =
      given === undefined ? `${describeProgress(story)}: it asks no question` : `was already answered by ${given.by}`;
    throw refused(`Story ${story.id} ${why}.`, `Run \`halo status ${runId}\` to see its state.`);
  }
  if (stopReason === 'USER_ABORT')
    throw refused(`Run ${runId} was cancelled.`, `Run \`halo retry ${runId}\` to reopen it without an answer.`);
}

function startsWhen({ runId, paused }: RunState): string {
  return paused === undefined
    ? 'its next attempt starts from the latest commit of the run, with the answer in its prompt'
    : `it starts when the run, which is paused, continues: \`halo resume ${runId}\``;
}
