import * as z from 'zod';
import type { Usage } from '../../core/agent.ts';
import type { ModelOperation } from '../model/model-operations.ts';

/** No answer has more; a number that is none is read as NaN. */
const MOST = 1e9;
const count = z.number().int().nonnegative().max(MOST).catch(Number.NaN);

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
const messagesCounts = z.object({
  input_tokens: count.optional(),
  cache_read_input_tokens: count.optional(),
  cache_creation_input_tokens: count.optional(),
  output_tokens: count.optional(),
});
/** Where the provider ran the model several times for one answer, the counts themselves leave some of that out. */
const messagesUsage = messagesCounts.extend({ iterations: z.array(messagesCounts).optional().catch(undefined) });
const messagesEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('message_start'), message: z.object({ usage: messagesUsage }) }),
  z.object({ type: z.literal('message_delta'), usage: messagesUsage }),
]);

/** The input holds what came from the cache; thoughts are paid for as output. */
const geminiUsage = z.object({
  promptTokenCount: count,
  // It leaves out what is 0.
  cachedContentTokenCount: count.default(0),
  toolUsePromptTokenCount: count.default(0),
  candidatesTokenCount: count.default(0),
  thoughtsTokenCount: count.default(0),
});
const geminiAnswer = z.object({
  usageMetadata: geminiUsage,
  candidates: z.array(z.object({ finishReason: z.unknown().optional() })).catch([]),
  promptFeedback: z.unknown().optional(),
});

/** What an answer tells of its usage; `last`: it is the whole of it, and every count is one. */
export interface Told {
  usage: Usage;
  last: boolean;
}

/** Reads what an event of a stream, or a whole document, tells of its usage; undefined when it tells nothing. */
export interface UsageReader {
  event(event: unknown): Told | undefined;
  document(body: unknown): Told | undefined;
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
      const read = (body: unknown) => fromGemini(geminiAnswer.safeParse(body).data);
      return { event: read, document: read };
    }
  }
}

/** The beginning of a stream tells of the input, its end of the output; the later word counts. */
function readMessages(): UsageReader {
  let known: z.infer<typeof messagesUsage> = {};
  const add = (usage: z.infer<typeof messagesUsage> | undefined, last: boolean): Told | undefined => {
    if (usage === undefined) return undefined;
    known = { ...known, ...Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== undefined)) };
    const { iterations = [], ...counts } = known;
    return toTold(sumMessages(iterations.length === 0 ? [counts] : iterations), last);
  };
  return {
    event: (event) => {
      const { data } = messagesEvent.safeParse(event);
      return data?.type === 'message_start' ? add(data.message.usage, false) : add(data?.usage, true);
    },
    document: (body) => add(z.object({ usage: messagesUsage }).safeParse(body).data?.usage, true),
  };
}

function sumMessages(counts: readonly z.infer<typeof messagesCounts>[]): Usage {
  const sum = (key: keyof z.infer<typeof messagesCounts>) =>
    counts.reduce((all, each) => all + (each[key] ?? (key.startsWith('cache') ? 0 : Number.NaN)), 0);
  const cachedTokens = sum('cache_read_input_tokens');
  const cacheWriteTokens = sum('cache_creation_input_tokens');
  return {
    requests: 1,
    inputTokens: sum('input_tokens') + cachedTokens + cacheWriteTokens,
    cachedTokens,
    ...(cacheWriteTokens === 0 ? {} : { cacheWriteTokens }),
    outputTokens: sum('output_tokens'),
  };
}

function fromResponses(usage: z.infer<typeof responsesUsage> | undefined): Told | undefined {
  if (usage === undefined) return undefined;
  const { input_tokens: inputTokens, output_tokens: outputTokens } = usage;
  const cachedTokens = usage.input_tokens_details.cached_tokens;
  return toTold({ requests: 1, inputTokens, cachedTokens, outputTokens }, true);
}

function fromChat(usage: z.infer<typeof chatUsage> | undefined): Told | undefined {
  if (usage === undefined) return undefined;
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = usage;
  const cachedTokens = usage.prompt_tokens_details.cached_tokens;
  return toTold({ requests: 1, inputTokens, cachedTokens, outputTokens }, true);
}

/** Every piece of a stream tells what was used so far, and the last one why it is the last. */
function fromGemini(answer: z.infer<typeof geminiAnswer> | undefined): Told | undefined {
  if (answer === undefined) return undefined;
  const { usageMetadata: used, candidates, promptFeedback } = answer;
  const usage: Usage = {
    requests: 1,
    inputTokens: used.promptTokenCount + used.toolUsePromptTokenCount,
    cachedTokens: used.cachedContentTokenCount,
    outputTokens: used.candidatesTokenCount + used.thoughtsTokenCount,
  };
  return toTold(usage, candidates.some(({ finishReason }) => finishReason != null) || promptFeedback != null);
}

/** What is no count tells nothing: then the most that the request could take counts, as for an answer that broke off. */
function toTold(usage: Usage, last: boolean): Told {
  const counts = Object.entries(usage) as [keyof Usage, number][];
  const known = Object.fromEntries(counts.map(([key, value]) => [key, Number.isNaN(value) ? 0 : value]));
  return { usage: { ...usage, ...known }, last: last && counts.every(([, value]) => !Number.isNaN(value)) };
}
