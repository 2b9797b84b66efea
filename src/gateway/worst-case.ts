import type { Worst } from './allowance.ts';
import type { ModelOperation } from './model-api.ts';
import type { ModelRequest } from './model-route.ts';

/** No common model takes or gives more in one request. */
const MOST_INPUT = 1_000_000;
const MOST_OUTPUT = 128_000;
/** A shorter answer would only break off, and be paid for. */
const LEAST_OUTPUT = 1_024;

/** Where a request limits its answer, per API; the first place is used where none is. */
const LIMITS = {
  responses: [['max_output_tokens']],
  chat: [['max_completion_tokens'], ['max_tokens']],
  messages: [['max_tokens']],
  gemini: [['generationConfig', 'maxOutputTokens']],
} as const satisfies Record<ModelOperation['answers'], readonly Place[]>;

type Place = readonly [string] | readonly [string, string];

/** The most that a request can take. No tokenizer makes more tokens of a text than it has bytes. */
export function worstCase({ model, operation, body }: ModelRequest): Worst {
  const places: readonly Place[] = LIMITS[operation.answers];
  const asked = places.map((place) => readPlace(body, place)).find(isCount) ?? MOST_OUTPUT;
  const outputTokens = Math.min(asked, MOST_OUTPUT);
  const thinking = (body.thinking as { budget_tokens?: unknown } | undefined)?.budget_tokens;
  const least = Math.max(LEAST_OUTPUT, isCount(thinking) ? thinking + 1 : 0);
  return {
    model,
    inputTokens: Math.min(Buffer.byteLength(JSON.stringify(body)), MOST_INPUT),
    outputTokens,
    leastOutput: Math.min(least, outputTokens),
  };
}

/** The request with an answer of at most `outputTokens`; as it was when it may have all that it asked for. */
export function limitAnswer(request: ModelRequest, outputTokens: number): ModelRequest {
  const { body, operation } = request;
  if (worstCase(request).outputTokens <= outputTokens) return request;
  const places: readonly [Place, ...Place[]] = LIMITS[operation.answers];
  const [key, inner] = places.find((place) => isCount(readPlace(body, place))) ?? places[0];
  const limit = inner === undefined ? outputTokens : { ...(body[key] as object | undefined), [inner]: outputTokens };
  return { ...request, body: { ...body, [key]: limit } };
}

function readPlace(body: Record<string, unknown>, [key, inner]: Place): unknown {
  const value = body[key];
  return inner === undefined ? value : (value as Record<string, unknown> | undefined)?.[inner];
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0;
}
