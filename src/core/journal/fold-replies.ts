import { omit, type StoryState } from '../run/state.ts';
import type { JournalEvent } from './events.ts';

/**
 * The story with the question that an attempt ended with, and the work that the next one continues with. A commit that
 * landed or is held contains that work.
 */
export function withReplies(story: StoryState, event: JournalEvent & { type: 'story.ended' }): StoryState {
  const { verdict, held, left, question, attempt } = event;
  const asking = { ...omit(story, 'question'), ...(question && { question }) };
  if (left !== undefined) return { ...asking, kept: { commit: left, attempt } };
  return verdict === 'passed' || held !== undefined ? omit(asking, 'kept') : asking;
}
