import type { JournalEntry } from '../../core/journal/events.ts';
import { isQuestion, nextDeadline } from '../../core/run/questions.ts';
import type { RunState, StoryState } from '../../core/run/state.ts';
import type { StoryQueue } from '../../queue/queue.ts';
import { continueRun } from '../run/continue-run.ts';
import type { RunKeeper } from '../worker-context.ts';

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
