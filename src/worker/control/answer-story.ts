import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import { assertAllowed, canAnswer, canContinueAfter } from '../../core/run/actions.ts';
import type { ControlResult } from '../../core/run/control-result.ts';
import { isQuestion, nextDeadline } from '../../core/run/questions.ts';
import { storyOf, type RunState, type StoryState } from '../../core/run/state.ts';
import { safeText } from '../../core/text/safe-text.ts';
import { defined } from '../../lib/guards.ts';
import type { StoryQueue } from '../../queue/queue.ts';
import { continueRun } from '../run/continue-run.ts';
import type { RunKeeper } from '../worker-context.ts';
import type { ControlRequest } from './control-run.ts';

const MAX_ANSWER = 8000;

/** One of both. `option`: the number of an option that the agent proposed, from 1. */
interface GivenAnswer {
  storyId: string;
  text?: string | undefined;
  option?: number | undefined;
}

/**
 * Answers the question with which a story ended: the story is started again, with question and answer in its prompt. Safe
 * to repeat. Throws USAGE for an unusable text, STORY_NOT_FOUND, and CONTROL_REFUSED if the story asks nothing or someone
 * else has answered.
 */
export async function answerStory(
  keeper: RunKeeper,
  request: ControlRequest,
  { storyId, text, option }: GivenAnswer,
): Promise<ControlResult> {
  const { runId, by } = request;
  const given = toAnswer(text, option);
  const changed = await keeper.store.transact(runId, (state) => {
    const story = storyOf(state, storyId);
    const said = { runId, stories: [story.id] };
    const before = isQuestion(story) ? undefined : story.answered?.at(-1);
    if (before?.by === by && (given === undefined ? before.option === option : before.text === given))
      return { entries: [], result: { ...said, changed: false, says: `Story ${story.id} has this answer already.` } };
    assertAllowed(canAnswer(state, story));
    const answer = given ?? requireOption(story, option);
    const chosen = given === undefined ? defined({ option }) : {};
    const attemptRef = { story: story.id, attempt: story.attempts };
    const entry: JournalEntry = { type: 'story.answered', ...attemptRef, text: answer, by, ...chosen };
    assertAllowed(canContinueAfter(state, entry));
    const says = `Story ${story.id} is answered: ${startsWhen(state, story)}.`;
    return { entries: [entry], result: { ...said, changed: true, says } };
  });
  await continueRun(keeper, request);
  return changed;
}

/** The text in the form that the journal keeps; undefined for an option. */
function toAnswer(text: string | undefined, option: number | undefined): string | undefined {
  if ((text === undefined) === (option === undefined))
    throw new HaloError('USAGE', 'An answer is either a text or the number of an option.');
  if (text === undefined) return undefined;
  const answer = safeText(text.replace(/\r\n?/g, '\n')).trim();
  if (answer === '') throw new HaloError('USAGE', 'The answer is empty.', { hint: 'Enter a text.' });
  if (answer.length > MAX_ANSWER)
    throw new HaloError('USAGE', `The answer has ${answer.length} characters; the limit is ${MAX_ANSWER}.`, {
      hint: 'Write a long answer into the PRD, and continue with `halo resume --replan`.',
    });
  return answer;
}

/** The text of an option. Throws USAGE if there is none with this number. */
function requireOption({ id, question }: StoryState, option = 0): string {
  const { options = [] } = question ?? {};
  const chosen = options[option - 1];
  if (chosen !== undefined) return chosen;
  const has = options.length === 0 ? 'no options' : `the options 1 to ${options.length}`;
  throw new HaloError('USAGE', `The question of story ${id} has ${has}, not ${option}.`, {
    hint: 'Answer with a text.',
  });
}

function startsWhen({ runId, paused }: RunState, { kept }: StoryState): string {
  const from =
    kept === undefined ? 'starts from the latest commit of the run' : 'continues with the files of the last one';
  return paused === undefined
    ? `its next attempt ${from}, with the answer in its prompt`
    : `it starts when the run, which is paused, continues: \`halo resume ${runId}\``;
}

/** The name in the journal of what halo decides because no person did. */
const HALO = 'halo';

/**
 * Applies `answers.default` to the questions of a run whose deadline has passed, and continues the run. The transaction
 * decides between halo and a person who answers at the same time. Safe to repeat. `now`: ms since 1970.
 */
export async function expireQuestions(
  keeper: RunKeeper,
  { runId, now, queue }: { runId: string; now: number; queue: Pick<StoryQueue, 'enqueue'> },
): Promise<void> {
  const isExpired = await keeper.store.transact(runId, (state) => {
    const entries = expiredStories(state, now).map(toEntry);
    return { entries, result: entries.length > 0 };
  });
  if (isExpired) await continueRun(keeper, { runId, openQueue: () => Promise.resolve(queue) });
}

function expiredStories(state: RunState, now: number): StoryState[] {
  if (nextDeadline(state) === undefined) return [];
  return state.stories.filter(
    (story) => isQuestion(story) && story.question?.until !== undefined && Date.parse(story.question.until) <= now,
  );
}

function toEntry({ id: story, attempts: attempt, question = {} }: StoryState): JournalEntry {
  const { unanswered = 'fail', options: [first] = [] } = question;
  if (unanswered !== 'first-option') return { type: 'question.expired', story, attempt, then: unanswered, by: HALO };
  return first === undefined
    ? { type: 'question.expired', story, attempt, then: 'fail', by: HALO }
    : { type: 'story.answered', story, attempt, text: first, by: HALO, option: 1, default: true };
}
