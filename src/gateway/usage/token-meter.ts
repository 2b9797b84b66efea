import * as z from 'zod';
import { NO_USAGE, type Usage } from '../../core/agent.ts';
import { parseUntrustedJson } from '../../lib/parse-json.ts';
import type { ModelOperation } from '../model/model-route.ts';

/** A longer line or body is not metered, which limits the memory of the gateway. */
const MAX_BUFFER = 16 * 1024 * 1024;

/** Reads the token usage of a response while it is streamed. */
interface TokenMeter {
  push(chunk: Buffer): void;
  /** The minimum output tokens so far: a stream has at most one event per token. */
  outputSoFar(): number;
  /** The usage as one request. Call it once, at the end. */
  end(): UsageReport;
}

const NOTHING_REPORTED: UsageReport = { usage: { ...NO_USAGE, requests: 1 }, last: false };

/** A stream event with output, in each of the APIs. */
const DELTA = /"(?:[a-z_.]*\.delta|content_block_delta|delta)"/;

/** Creates a meter. It buffers the current line of an event stream, or a whole JSON body. */
export function createTokenMeter(format: ModelOperation['responseFormat'], contentType: string): TokenMeter {
  const reader = createUsageReader(format);
  return contentType.includes('text/event-stream') ? meterStream(reader) : meterDocument(reader);
}

function meterStream(reader: UsageReader): TokenMeter {
  let reported = NOTHING_REPORTED;
  let deltas = 0;
  const line = createBuffer();
  const endLine = () => {
    const text = line.recording();
    if (text?.startsWith('data:') !== true) return;
    if (DELTA.test(text)) deltas += 1;
    if (text.includes('"usage')) reported = reader.event(parseUntrustedJson(text.slice(5))) ?? reported;
  };
  return {
    push(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
        line.add(chunk.subarray(from, at));
        endLine();
        from = at + 1;
      }
      line.add(chunk.subarray(from));
    },
    outputSoFar: () => Math.max(deltas, reported.usage.outputTokens),
    end() {
      endLine();
      return reported;
    },
  };
}

function meterDocument(reader: UsageReader): TokenMeter {
  const body = createBuffer();
  return {
    push: (chunk) => body.add(chunk),
    outputSoFar: () => 0,
    end: () => reader.document(parseUntrustedJson(body.recording() ?? '')) ?? NOTHING_REPORTED,
  };
}

/** Collects up to MAX_BUFFER bytes; `take` empties it and returns undefined when there were more. */
function createBuffer() {
  let chunks: Buffer[] = [];
  let size = 0;
  return {
    add(chunk: Buffer) {
      size += chunk.length;
      if (size > MAX_BUFFER) chunks = [];
      else if (chunk.length > 0) chunks.push(chunk);
    },
    recording(): string | undefined {
      const text = size > MAX_BUFFER ? undefined : Buffer.concat(chunks).toString('utf8');
      chunks = [];
      size = 0;
      return text;
    },
  };
}

/** No response has more tokens. Invalid numbers are read as NaN. */
const MAX_COUNT = 1e9;
const count = z.number().int().nonnegative().max(MAX_COUNT).catch(Number.NaN);

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

/** Cache reads and writes are counted separately from the other input. */
const messagesCounts = z.object({
  input_tokens: count.optional(),
  cache_read_input_tokens: count.optional(),
  cache_creation_input_tokens: count.optional(),
  output_tokens: count.optional(),
});
/** When the provider ran the model several times for one response, only `iterations` contains all counts. */
const messagesUsage = messagesCounts.extend({ iterations: z.array(messagesCounts).optional().catch(undefined) });
const messagesEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('message_start'), message: z.object({ usage: messagesUsage }) }),
  z.object({ type: z.literal('message_delta'), usage: messagesUsage }),
]);

/** The input includes cache reads. Thoughts are charged as output. */
const geminiUsage = z.object({
  promptTokenCount: count,
  // Counts of 0 are omitted.
  cachedContentTokenCount: count.default(0),
  toolUsePromptTokenCount: count.default(0),
  candidatesTokenCount: count.default(0),
  thoughtsTokenCount: count.default(0),
});
const geminiResponse = z.object({
  usageMetadata: geminiUsage,
  candidates: z.array(z.object({ finishReason: z.unknown().optional() })).catch([]),
  promptFeedback: z.unknown().optional(),
});

/** The usage that a response reports; `last` when it is complete and all counts are valid. */
interface UsageReport {
  usage: Usage;
  last: boolean;
}

/** Reads the usage from a stream event or a whole document; undefined when it contains none. */
interface UsageReader {
  event(event: unknown): UsageReport | undefined;
  document(body: unknown): UsageReport | undefined;
}

/** Creates a reader for the response to one request. */
export function createUsageReader(format: ModelOperation['responseFormat']): UsageReader {
  switch (format) {
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
      const read = (body: unknown) => fromGemini(geminiResponse.safeParse(body).data);
      return { event: read, document: read };
    }
  }
}

/** A stream reports its input at the start and its output at the end. Later values replace earlier ones. */
function readMessages(): UsageReader {
  let known: z.infer<typeof messagesUsage> = {};
  const add = (usage: z.infer<typeof messagesUsage> | undefined, last: boolean): UsageReport | undefined => {
    if (usage === undefined) return undefined;
    known = { ...known, ...Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== undefined)) };
    const { iterations = [], ...counts } = known;
    return toReport(sumMessages(iterations.length === 0 ? [counts] : iterations), last);
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

function fromResponses(usage: z.infer<typeof responsesUsage> | undefined): UsageReport | undefined {
  if (usage === undefined) return undefined;
  const { input_tokens: inputTokens, output_tokens: outputTokens } = usage;
  const cachedTokens = usage.input_tokens_details.cached_tokens;
  return toReport({ requests: 1, inputTokens, cachedTokens, outputTokens }, true);
}

function fromChat(usage: z.infer<typeof chatUsage> | undefined): UsageReport | undefined {
  if (usage === undefined) return undefined;
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = usage;
  const cachedTokens = usage.prompt_tokens_details.cached_tokens;
  return toReport({ requests: 1, inputTokens, cachedTokens, outputTokens }, true);
}

/** Every event of a stream reports the usage so far, and the last one has a finish reason. */
function fromGemini(response: z.infer<typeof geminiResponse> | undefined): UsageReport | undefined {
  if (response === undefined) return undefined;
  const { usageMetadata: used, candidates, promptFeedback } = response;
  const usage: Usage = {
    requests: 1,
    inputTokens: used.promptTokenCount + used.toolUsePromptTokenCount,
    cachedTokens: used.cachedContentTokenCount,
    outputTokens: used.candidatesTokenCount + used.thoughtsTokenCount,
  };
  return toReport(usage, candidates.some(({ finishReason }) => finishReason != null) || promptFeedback != null);
}

/** Invalid counts make the report incomplete, so that the reserved maximum is charged as for an aborted response. */
function toReport(usage: Usage, last: boolean): UsageReport {
  const counts = Object.entries(usage) as [keyof Usage, number][];
  const known = Object.fromEntries(counts.map(([key, value]) => [key, Number.isNaN(value) ? 0 : value]));
  return { usage: { ...usage, ...known }, last: last && counts.every(([, value]) => !Number.isNaN(value)) };
}
