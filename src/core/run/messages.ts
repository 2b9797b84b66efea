import type { StoryProgress } from './progress.ts';
import type { Phase } from '../journal/phase.ts';

/** How many messages a story can have: all of them are in each of its prompts. */
export const MAX_MESSAGES = 20;

/** A message of a person to the agent of a story. */
export interface StoryMessage {
  /** Unique among the messages of the run. */
  id: string;
  text: string;
  by: string;
  /** ISO 8601 */
  at: string;
  /** The latest attempt whose agent was shown it: while it worked, or in its prompt. */
  shown?: { attempt: number; epoch: number; at: string; how: ShownHow };
}

/** An agent that works reads messages in its turn, after its current step; or after it, in a further turn of its session. */
export type Listening = 'turn' | 'after';

export type ShownHow = 'live' | 'prompt';

/** The part of a story's state that messages change. */
export interface StoryMessages {
  /** Oldest first. */
  messages?: StoryMessage[];
  /** When the agent that works now reads messages. */
  takesMessages?: Listening;
}

interface MessagedStory extends StoryMessages {
  progress: StoryProgress;
  phase?: Phase;
  epoch?: number;
  /** Set while the attempt waits to begin again. */
  waiting?: object;
}

/**
 * Where a message to a story goes now:
 * - `live`: to the agent that works, in its turn
 * - `after`: to the agent that works, after its turn
 * - `prompt`: into a prompt of the attempt that runs, which is not written yet
 * - `next`: into the prompt of the next attempt, if there is one
 */
export type MessageRoute = 'live' | 'after' | 'prompt' | 'next';

/** The phases after whose beginning no other prompt of an attempt is written, except those of refactoring. */
const PROMPTED: readonly Phase[] = ['agent', 'export', 'import', 'gates', 'review', 'land'];

export function messageRoute({ progress, phase, takesMessages, waiting }: MessagedStory): MessageRoute {
  if (takesMessages) return takesMessages === 'turn' ? 'live' : 'after';
  const isWritten = waiting === undefined && phase !== undefined && PROMPTED.includes(phase);
  return isWritten || progress !== 'in_progress' ? 'next' : 'prompt';
}

/** What follows "it" in a sentence about a message that goes there. */
export const ROUTE_WORDS: Record<MessageRoute, string> = {
  live: 'goes to the agent that is working, which reads it after its current step',
  after: 'goes to the agent that is working, which reads it after its turn',
  prompt: 'will be in the prompt of the attempt that has begun',
  next: 'will be in the prompt of the next attempt',
};

/** The label of a field for a message that goes there. */
export const ROUTE_LABELS: Record<MessageRoute, string> = {
  live: 'Message to the agent that is working',
  after: 'Message to the agent that is working, after its turn',
  prompt: 'Message for the prompt of this attempt',
  next: 'Message for the next prompt',
};

/**
 * What has become of a message: `queued` for the agent that works, `delivered` to the agent of the latest attempt, in the next
 * `prompt`, or `missed`, because the story ended before an agent saw it.
 */
export type MessageState = 'queued' | 'delivered' | 'prompt' | 'missed';

export const MESSAGE_WORDS: Record<MessageState, string> = {
  queued: 'queued',
  delivered: 'delivered',
  prompt: 'in the next prompt',
  missed: 'not delivered: the story had ended',
};

/** Stories that no agent works on again, unless a person sends them back. */
const OVER: readonly StoryProgress[] = ['passed', 'done', 'skipped', 'cancelled'];

export function messageState(story: MessagedStory, { shown }: StoryMessage): MessageState {
  if (shown !== undefined && shown.epoch === (story.epoch ?? 0)) return 'delivered';
  if (OVER.includes(story.progress)) return shown === undefined ? 'missed' : 'delivered';
  return story.takesMessages ? 'queued' : 'prompt';
}

/** The story after a message was sent. */
export function withMessage<S extends StoryMessages>(story: S, { id, text, by, at }: StoryMessage): S {
  return { ...story, messages: [...(story.messages ?? []), { id, text, by, at }] };
}

/** The story after its agent was shown messages. */
export function withShown<S extends MessagedStory>(
  story: S,
  { ids, ...shown }: { ids: readonly string[]; attempt: number; at: string; how: ShownHow },
): S {
  const { attempt, at, how } = shown;
  const messages = (story.messages ?? []).map((message) =>
    ids.includes(message.id) ? { ...message, shown: { attempt, epoch: story.epoch ?? 0, at, how } } : message,
  );
  return { ...story, messages };
}
