import { createHash } from 'node:crypto';
import type { ModelRequest } from './model-route.ts';

/** Keys that differ from one run of the same story to the next, or that say nothing about it. */
const VOLATILE = ['prompt_cache_key', 'client_metadata', 'include', 'store', 'stream', 'previous_response_id'];
const MAX_TEXT = 600;

/** What a cassette keeps of a request, and what a replay compares. */
export interface RequestFacts {
  model: string;
  /** How many results of tool calls the request carries. */
  toolResults: number;
  /** sha256 of `body` as JSON, hex. */
  digest: string;
  /** The body without volatile keys; long texts are cut, tools are reduced to their names. */
  body: unknown;
}

export function requestFacts(request: ModelRequest): RequestFacts {
  const kept = Object.entries(request.body).filter(([key]) => !VOLATILE.includes(key));
  const body = Object.fromEntries(kept.map(([key, value]) => [key, key === 'tools' ? toolNames(value) : cut(value)]));
  return {
    model: request.model,
    toolResults: countToolResults(request.body.input),
    digest: createHash('sha256').update(JSON.stringify(body)).digest('hex'),
    body,
  };
}

function countToolResults(input: unknown): number {
  if (!Array.isArray(input)) return 0;
  return input.filter((item: unknown) => String((item as { type?: unknown } | null)?.type).endsWith('_call_output'))
    .length;
}

function toolNames(tools: unknown): unknown {
  if (!Array.isArray(tools)) return tools;
  return (tools as ({ name?: unknown; type?: unknown } | null)[]).map((tool) => tool?.name ?? tool?.type ?? null);
}

function cut(value: unknown): unknown {
  if (typeof value === 'string') {
    if (value.startsWith('<environment_context>')) return '<environment_context>…';
    return value.length <= MAX_TEXT ? value : `${value.slice(0, MAX_TEXT)}…`;
  }
  if (Array.isArray(value)) return value.map(cut);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cut(inner)]));
  return value;
}
