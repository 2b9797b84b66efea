import { HaloError } from '../failure/errors.ts';
import { canMessage } from './actions.ts';
import type { ControlResult } from './control-result.ts';
import { ROUTE_WORDS, type MessageRoute } from './messages.ts';
import { storyOf, type RunState, type StoryState } from './state.ts';

/** The result of a message. `message`: its id. */
export interface MessageResult extends ControlResult {
  message: string;
  route: MessageRoute;
}

/** Where a message to a story goes, as a sentence. */
export function routeSentence(
  { runId, status }: RunState,
  { id }: Pick<StoryState, 'id'>,
  route: MessageRoute,
): string {
  const starts = status === 'ended' ? `, which \`halo retry ${runId}\` starts` : '';
  const none = route === 'next' && starts === '' ? ', if there is one' : starts;
  return `The message to story ${id} ${ROUTE_WORDS[route]}${none}.`;
}

/**
 * The story that gets a message: the named one; otherwise the only one in progress, or the only one that can get one. Throws
 * STORY_NOT_FOUND, CONTROL_REFUSED if no story can, and USAGE if several can.
 */
export function chooseStory(run: RunState, named: string | undefined): StoryState {
  if (named !== undefined) return storyOf(run, named);
  const open = run.stories.filter((story) => canMessage(run, story) === true);
  const working = open.filter(({ progress }) => progress === 'in_progress');
  const [story, ...others] = working.length > 0 ? working : open;
  if (story === undefined)
    throw new HaloError('CONTROL_REFUSED', `No agent works on a story of run ${run.runId}, or will.`, {
      hint: `Run \`halo status ${run.runId}\` to see its state.`,
    });
  if (others.length === 0) return story;
  const ids = [story, ...others].slice(0, 20).map(({ id }) => id);
  throw new HaloError('USAGE', `Several stories can get the message: ${ids.join(', ')}.`, {
    hint: 'Name one of them before the text.',
  });
}
