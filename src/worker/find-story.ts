import { HaloError } from '../core/failure/errors.ts';
import type { RunState, StoryState } from '../core/run-state.ts';

/** A story of a run. Throws STORY_NOT_FOUND, which names those that there are. */
export function findStory({ runId, stories }: Pick<RunState, 'runId' | 'stories'>, storyId: string): StoryState {
  const story = stories.find(({ id }) => id === storyId);
  if (story !== undefined) return story;
  const known = stories.map(({ id }) => id).slice(0, 20);
  throw new HaloError('STORY_NOT_FOUND', `Run ${runId} has no story ${JSON.stringify(storyId)}.`, {
    hint: `Its stories: ${known.join(', ')}.`,
  });
}
