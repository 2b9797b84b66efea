import { HaloError } from '../../core/failure/errors.ts';
import { sleep } from '../../lib/async.ts';
import type { ModelOperation, ModelRequest } from '../model/model-route.ts';
import type { RequestLog } from '../request-log.ts';
import type { BudgetPort, Estimate, Reservation } from './budget-port.ts';

/** Maximum time that a client waits for its budget; agents wait minutes for a first byte. */
export const MAX_WAIT_MS = 60_000;

/** An error response of the gateway instead of the provider's response. */
export interface Refusal {
  status: number;
  sentence: string;
  /** Seconds, for `retry-after`. */
  retryAfter?: number;
  /** The log has its problem already. */
  logged?: true;
}

interface ReserveOptions {
  budget: BudgetPort;
  request: ModelRequest;
  log: RequestLog;
  /** The remaining time that this client may be kept waiting, in ms. */
  patience: { ms: number };
  signal: AbortSignal;
  /** Keys that the provider has refused for this request. */
  avoid: readonly number[];
}

/** Reserves the budget of a request. Waits up to `patience` for rate limits, and refuses when a budget is used up. */
export async function reserveBudget(options: ReserveOptions): Promise<Reservation | Refusal> {
  const { budget, request, log, patience, signal, avoid } = options;
  for (;;) {
    const reply = await budget.reserve(estimateRequest(request), avoid).catch(asFault);
    if ('fault' in reply) {
      log.reportProblem({ sentence: reply.fault }, 'fault');
      return { status: 503, sentence: reply.fault };
    }
    switch (reply.kind) {
      case 'granted':
        return reply.reservation;
      case 'spent':
        log.reportProblem({ sentence: reply.reason, limit: reply.limit }, 'budget');
        // Clients do not retry a request after status 400.
        return { status: 400, sentence: reply.reason };
      case 'wait':
        // The caller has a response of another key.
        if (avoid.length > 0 && reply.ms > patience.ms) return { status: 429, sentence: reply.reason, logged: true };
        if (reply.pause !== undefined && reply.ms > budget.longestPauseMs) {
          log.reportPause({ sentence: reply.reason, cause: 'rate-limited' }, reply.pause);
          // Clients do not retry a request after status 400.
          return { status: 400, sentence: reply.reason, logged: true };
        }
        if (reply.ms > patience.ms) {
          log.reportProblem({ sentence: reply.reason, cause: 'rate-limited' });
          return { status: 429, sentence: reply.reason, retryAfter: Math.ceil(reply.ms / 1000) };
        }
        patience.ms -= reply.ms;
        await sleep(reply.ms, signal);
        signal.throwIfAborted();
    }
  }
}

function asFault(error: unknown): { fault: string } {
  if (error instanceof HaloError) return { fault: error.message };
  throw error;
}

/** No common model produces more output in one response. */
const MAX_OUTPUT = 128_000;
/** A shorter response would be cut off and still be charged. */
const MIN_OUTPUT = 1_024;
/** The provider that writes summaries charges five times as much for output as for input. */
const OUTPUT_AS_INPUT = 5;

/** The keys that limit the output, per API. A request has at most one of them; the first is used when it has none. */
const LIMITS = {
  responses: [['max_output_tokens']],
  chat: [['max_completion_tokens'], ['max_tokens']],
  messages: [['max_tokens']],
  gemini: [['generationConfig', 'maxOutputTokens']],
} as const satisfies Record<ModelOperation['responseFormat'], readonly FieldPath[]>;

type FieldPath = readonly [string] | readonly [string, string];

/** Estimates the maximum tokens of a request. */
export function estimateRequest(request: ModelRequest): Estimate {
  const { model, operation, body } = request;
  if (operation.free) return { model, inputTokens: 0, outputTokens: 0, leastOutput: 0 };
  const outputTokens = Math.min(askedOutput(request) ?? MAX_OUTPUT, MAX_OUTPUT);
  const least = Math.max(MIN_OUTPUT, thinkingOf(body) + 1);
  const once = maxInputTokens(request);
  const inputTokens = mayCompact(body) ? 2 * once + OUTPUT_AS_INPUT * outputTokens : once;
  return { model, inputTokens, outputTokens, leastOutput: Math.min(least, outputTokens) };
}

/** Whether the provider may process the request a second time to write a summary (compaction). */
function mayCompact({ context_management }: Record<string, unknown>): boolean {
  const { edits = [] } = (context_management ?? {}) as { edits?: readonly { type: string }[] };
  return edits.some(({ type }) => type.startsWith('compact_'));
}

/** Limits the output of a request to `outputTokens`. Returns it unchanged when its own limit is not higher. */
export function limitOutput(request: ModelRequest, outputTokens: number): ModelRequest {
  const { body, operation } = request;
  if (operation.free || (askedOutput(request) ?? MAX_OUTPUT) <= outputTokens) return request;
  const places: readonly [FieldPath, ...FieldPath[]] = LIMITS[operation.responseFormat];
  const [key, inner] = places.find((path) => isCount(readField(body, path))) ?? places[0];
  const limit = inner === undefined ? outputTokens : { ...(body[key] as object | undefined), [inner]: outputTokens };
  return { ...request, body: { ...body, [key]: limit } };
}

/** The output limit of a request, or undefined when it has none. */
function askedOutput({ body, operation }: ModelRequest): number | undefined {
  const places: readonly FieldPath[] = LIMITS[operation.responseFormat];
  const asked = places.map((path) => readField(body, path)).find(isCount);
  if (asked === undefined) return undefined;
  // A thinking budget above the output limit is not part of it.
  const thinking = thinkingOf(body);
  return thinking < asked ? asked : asked + thinking;
}

function thinkingOf(body: Record<string, unknown>): number {
  const budget = (body.thinking as { budget_tokens?: unknown } | undefined)?.budget_tokens;
  return isCount(budget) ? budget : 0;
}

function readField(body: Record<string, unknown>, [key, inner]: FieldPath): unknown {
  const value = body[key];
  return inner === undefined ? value : (value as Record<string, unknown> | undefined)?.[inner];
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0;
}

/** The largest context window of any model, in tokens. */
const MAX_CONTEXT_TOKENS = 2_100_000;

/**
 * Maximum tokens that providers count for one image, rounded up. OpenAI: 10,000 patches at `detail: original`; servers of
 * open models that speak its APIs: 16,384. Anthropic: 4,784. Gemini: 3072 × 3072 pixels in tiles of 258 tokens.
 */
const IMAGE_TOKENS: Record<ModelOperation['responseFormat'], number> = {
  responses: 16_400,
  chat: 16_400,
  messages: 5_000,
  gemini: 16_400,
};
/** gpt-4o-mini alone counts 2,833 and 5,667 for each of eight tiles. */
const EXPENSIVE_IMAGE = { models: /^gpt-4o-mini/, tokens: 48_200 };

/** Tokens that providers add to a request with tools: instructions and tool definitions. */
const TOOL_OVERHEAD = 2_000;

/** Keys that contain parts. Below other keys, agent data may look like parts. */
const PART_KEYS = ['content', 'output', 'summary', 'parts', 'functionResponse', 'source'];

/**
 * The maximum input tokens of a request. A text never has more tokens than bytes. An image has a fixed maximum per API.
 * The pages of a file are unknown, so a file counts as the largest context window.
 */
function maxInputTokens({ model, operation, body }: ModelRequest): number {
  const media = [body.input, body.messages, body.contents, body.systemInstruction].flatMap(findMedia);
  if (media.some(({ kind }) => kind === 'file')) return MAX_CONTEXT_TOKENS;
  const hidden = media.reduce((sum, { data }) => sum + Buffer.byteLength(JSON.stringify(data)), 0);
  const text = Buffer.byteLength(JSON.stringify(body)) - hidden;
  const each = EXPENSIVE_IMAGE.models.test(model) ? EXPENSIVE_IMAGE.tokens : IMAGE_TOKENS[operation.responseFormat];
  const tools = Array.isArray(body.tools) && body.tools.length > 0 ? TOOL_OVERHEAD : 0;
  return Math.min(text + media.length * each + tools, MAX_CONTEXT_TOKENS);
}

interface Media {
  kind: 'picture' | 'file';
  /** Its bytes, as text. */
  data: string;
}

interface Part {
  type?: unknown;
  image_url?: string | { url: string };
  file?: unknown;
  source?: { type?: unknown; data?: string };
  inlineData?: { mimeType: string; data: string };
}

/** Finds media in the formats of all four APIs, the only ones that the schemas accept. */
function findMedia(value: unknown): Media[] {
  if (Array.isArray(value)) return value.flatMap(findMedia);
  if (typeof value !== 'object' || value === null) return [];
  const part = value as Part;
  const { inlineData, source } = part;
  if (inlineData !== undefined) {
    return [{ kind: inlineData.mimeType.startsWith('image/') ? 'picture' : 'file', data: inlineData.data }];
  }
  switch (part.type) {
    case 'input_image':
    case 'image_url': {
      const url = typeof part.image_url === 'string' ? part.image_url : part.image_url?.url;
      return [{ kind: 'picture', data: url ?? '' }];
    }
    case 'image':
      return [{ kind: 'picture', data: source?.data ?? '' }];
    case 'input_file':
    case 'file':
      return [{ kind: 'file', data: '' }];
    case 'document':
      if (source?.type === 'base64') return [{ kind: 'file', data: '' }];
  }
  return PART_KEYS.flatMap((key) => findMedia((value as Record<string, unknown>)[key]));
}
