import { randomUUID } from 'node:crypto';
import { HaloError } from '../../core/failure/errors.ts';
import { assertAllowed, canMessage } from '../../core/run/actions.ts';
import { messageRoute, messageState, type MessageState } from '../../core/run/messages.ts';
import { safeText } from '../../core/text/safe-text.ts';
import type { RunKeeper } from '../worker-context.ts';
import { chooseStory, routeSentence, type MessageResult } from '../../core/run/message-target.ts';

/** In characters. */
const MAX_MESSAGE = 8_000;

interface MessageRequest {
  runId: string;
  /** The user who sends it, for the journal and the agent. */
  by: string;
  /** The id of the story; undefined: the only one that can get it. */
  story?: string | undefined;
  text: string;
}

/**
 * Sends a message to the agent of a story. It is in the journal when this resolves; a worker delivers it. Safe to repeat while
 * no agent has seen it. Throws USAGE for an unusable text, STORY_NOT_FOUND, and CONTROL_REFUSED if no agent will work on the
 * story.
 */
export async function sendMessage(
  { store }: RunKeeper,
  { runId, by, ...given }: MessageRequest,
): Promise<MessageResult> {
  const text = toMessage(given.text);
  return store.transact<MessageResult>(runId, (state) => {
    const story = chooseStory(state, given.story);
    const route = messageRoute(story);
    const said = { runId, stories: [story.id], route };
    const last = story.messages?.at(-1);
    if (last?.by === by && last.text === text && isOpen(messageState(story, last)))
      return {
        entries: [],
        result: { ...said, message: last.id, changed: false, says: `Story ${story.id} has this message already.` },
      };
    assertAllowed(canMessage(state, story));
    const id = randomUUID();
    return {
      entries: [{ type: 'message.sent', story: story.id, attempt: story.attempts, id, text, by }],
      result: { ...said, message: id, changed: true, says: routeSentence(state, story, route) },
    };
  });
}

function isOpen(state: MessageState): boolean {
  return state === 'queued' || state === 'prompt';
}

/** The text in the form that the journal keeps. */
function toMessage(given: string): string {
  const text = safeText(given.replace(/\r\n?/g, '\n')).trim();
  if (text === '') throw new HaloError('USAGE', 'The message is empty.', { hint: 'Enter a text.' });
  if (text.length > MAX_MESSAGE)
    throw new HaloError('USAGE', `The message has ${text.length} characters; the limit is ${MAX_MESSAGE}.`, {
      hint: 'Write a long text into the PRD, and continue with `halo resume --replan`.',
    });
  return text;
}
