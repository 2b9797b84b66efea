import type { Worst } from '../allowance.ts';
import { mostInput } from './measure-input.ts';
import type { ModelOperation } from '../model/model-operations.ts';
import type { ModelRequest } from '../model/model-route.ts';

/** No common model gives more in one answer. */
const MOST_OUTPUT = 128_000;
/** A shorter answer would only break off, and be paid for. */
const LEAST_OUTPUT = 1_024;
/** The provider that writes summaries asks five times as much for output as for input. */
const OUTPUT_AS_INPUT = 5;

/** Where a request limits its answer, per API; a request has at most one of them, and the first is used where none is. */
const LIMITS = {
  responses: [['max_output_tokens']],
  chat: [['max_completion_tokens'], ['max_tokens']],
  messages: [['max_tokens']],
  gemini: [['generationConfig', 'maxOutputTokens']],
} as const satisfies Record<ModelOperation['answers'], readonly Place[]>;

type Place = readonly [string] | readonly [string, string];

/** The most that a request can take. */
export function worstCase(request: ModelRequest): Worst {
  const { model, operation, body } = request;
  if (operation.free) return { model, inputTokens: 0, outputTokens: 0, leastOutput: 0 };
  const outputTokens = Math.min(askedOutput(request) ?? MOST_OUTPUT, MOST_OUTPUT);
  const least = Math.max(LEAST_OUTPUT, thinkingOf(body) + 1);
  const once = mostInput(request);
  const inputTokens = compacts(body) ? 2 * once + OUTPUT_AS_INPUT * outputTokens : once;
  return { model, inputTokens, outputTokens, leastOutput: Math.min(least, outputTokens) };
}

/** Whether the provider may read the request a second time, to write a summary that it then goes on from. */
function compacts({ context_management }: Record<string, unknown>): boolean {
  const { edits = [] } = (context_management ?? {}) as { edits?: readonly { type: string }[] };
  return edits.some(({ type }) => type.startsWith('compact_'));
}

/** The request with an answer of at most `outputTokens`; as it was when it asks for no more than that. */
export function limitAnswer(request: ModelRequest, outputTokens: number): ModelRequest {
  const { body, operation } = request;
  if (operation.free || (askedOutput(request) ?? MOST_OUTPUT) <= outputTokens) return request;
  const places: readonly [Place, ...Place[]] = LIMITS[operation.answers];
  const [key, inner] = places.find((place) => isCount(readPlace(body, place))) ?? places[0];
  const limit = inner === undefined ? outputTokens : { ...(body[key] as object | undefined), [inner]: outputTokens };
  return { ...request, body: { ...body, [key]: limit } };
}

/** The longest answer that a request allows; undefined: it does not say. */
function askedOutput({ body, operation }: ModelRequest): number | undefined {
  const places: readonly Place[] = LIMITS[operation.answers];
  const asked = places.map((place) => readPlace(body, place)).find(isCount);
  if (asked === undefined) return undefined;
  // Thoughts may have a limit above that of the answer, which they are then no part of.
  const thinking = thinkingOf(body);
  return thinking < asked ? asked : asked + thinking;
}

function thinkingOf(body: Record<string, unknown>): number {
  const budget = (body.thinking as { budget_tokens?: unknown } | undefined)?.budget_tokens;
  return isCount(budget) ? budget : 0;
}

function readPlace(body: Record<string, unknown>, [key, inner]: Place): unknown {
  const value = body[key];
  return inner === undefined ? value : (value as Record<string, unknown> | undefined)?.[inner];
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0;
}
