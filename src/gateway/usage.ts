import * as z from 'zod';
import { NO_USAGE, type Usage } from '../core/agent.ts';
import type { ModelOperation } from './model-api.ts';

const count = z.number().int().nonnegative().catch(0);

const responsesUsage = z.object({
  input_tokens: count,
  output_tokens: count,
  input_tokens_details: z.object({ cached_tokens: count }).catch({ cached_tokens: 0 }),
});
const responsesEvent = z.object({
  type: z.enum(['response.completed', 'response.incomplete', 'response.failed']),
  response: z.object({ usage: responsesUsage }),
});

const chatUsage = z.object({
  prompt_tokens: count,
  completion_tokens: count,
  prompt_tokens_details: z.object({ cached_tokens: count }).catch({ cached_tokens: 0 }),
});

/** What is read from the cache and written to it is counted apart from the rest of the input. */
const messagesUsage = z.object({
  input_tokens: count.optional(),
  cache_read_input_tokens: count.optional(),
  cache_creation_input_tokens: count.optional(),
  output_tokens: count.optional(),
});
const messagesEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('message_start'), message: z.object({ usage: messagesUsage }) }),
  z.object({ type: z.literal('message_delta'), usage: messagesUsage }),
]);

/** The input holds what came from the cache; thoughts are paid for as output. */
const geminiUsage = z.object({
  promptTokenCount: count,
  cachedContentTokenCount: count,
  toolUsePromptTokenCount: count,
  candidatesTokenCount: count,
  thoughtsTokenCount: count,
});

/** Reads what an event of a stream, or a whole document, tells of its usage; undefined when it tells nothing. */
export interface UsageReader {
  event(event: unknown): Usage | undefined;
  document(body: unknown): Usage | undefined;
}

/** A reader for the answer to one request. */
export function createUsageReader(answers: ModelOperation['answers']): UsageReader {
  switch (answers) {
    case 'responses':
      return {
        event: (event) => fromResponses(responsesEvent.safeParse(event).data?.response.usage),
        document: (body) => fromResponses(z.object({ usage: responsesUsage }).safeParse(body).data?.usage),
      };
    case 'chat': {
      const read = (body: unknown) => fromChat(z.object({ usage: chatUsage }).safeParse(body).data?.usage);
      return { event: read, document: read };
    }
    case 'messages':
      return readMessages();
    case 'gemini': {
      const read = (body: unknown) =>
        fromGemini(z.object({ usageMetadata: geminiUsage }).safeParse(body).data?.usageMetadata);
      return { event: read, document: read };
    }
  }
}

/** The beginning of a stream tells of the input, its end of the output; the later word counts. */
function readMessages(): UsageReader {
  let known: z.infer<typeof messagesUsage> = {};
  const add = (usage: z.infer<typeof messagesUsage> | undefined): Usage | undefined => {
    if (usage === undefined) return undefined;
    known = { ...known, ...Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== undefined)) };
    const { input_tokens = 0, cache_read_input_tokens = 0, cache_creation_input_tokens = 0, output_tokens = 0 } = known;
    return {
      ...NO_USAGE,
      requests: 1,
      inputTokens: input_tokens + cache_read_input_tokens + cache_creation_input_tokens,
      cachedTokens: cache_read_input_tokens,
      outputTokens: output_tokens,
    };
  };
  return {
    event: (event) => {
      const { data } = messagesEvent.safeParse(event);
      return add(data?.type === 'message_start' ? data.message.usage : data?.usage);
    },
    document: (body) => add(z.object({ usage: messagesUsage }).safeParse(body).data?.usage),
  };
}

function fromResponses(usage: z.infer<typeof responsesUsage> | undefined): Usage | undefined {
  if (usage === undefined) return undefined;
  return {
    ...NO_USAGE,
    requests: 1,
    inputTokens: usage.input_tokens,
    cachedTokens: usage.input_tokens_details.cached_tokens,
    outputTokens: usage.output_tokens,
  };
}

function fromChat(usage: z.infer<typeof chatUsage> | undefined): Usage | undefined {
  if (usage === undefined) return undefined;
  return {
    ...NO_USAGE,
    requests: 1,
    inputTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details.cached_tokens,
    outputTokens: usage.completion_tokens,
  };
}

function fromGemini(usage: z.infer<typeof geminiUsage> | undefined): Usage | undefined {
  if (usage === undefined) return undefined;
  return {
    ...NO_USAGE,
    requests: 1,
    inputTokens: usage.promptTokenCount + usage.toolUsePromptTokenCount,
    cachedTokens: usage.cachedContentTokenCount,
    outputTokens: usage.candidatesTokenCount + usage.thoughtsTokenCount,
  };
}
