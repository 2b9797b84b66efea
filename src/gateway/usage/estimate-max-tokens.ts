import type { Estimate } from './budget-port.ts';
import { maxInputTokens } from './measure-input.ts';
import type { ModelOperation } from '../model/model-operations.ts';
import type { ModelRequest } from '../model/model-route.ts';

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
