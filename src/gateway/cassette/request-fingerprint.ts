import { createHash } from 'node:crypto';
import type { Masker } from '../../lib/secrets/masker.ts';
import type { ModelRequest } from '../model/model-route.ts';

/** Keys that differ from one run of the same story to the next, or that say nothing about it. */
const VOLATILE = ['prompt_cache_key', 'client_metadata', 'include', 'store', 'stream', 'metadata', 'stream_options'];
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

/** Masked first: what is cut in the middle is no longer found. */
export function requestFacts(request: ModelRequest, masker: Masker): RequestFacts {
  const kept = Object.entries(masker.value(request.body)).filter(([key]) => !VOLATILE.includes(key));
  const body = Object.fromEntries(kept.map(([key, value]) => [key, key === 'tools' ? toolNames(value) : cut(value)]));
  return {
    model: request.model,
    toolResults: countToolResults(request.body),
    digest: createHash('sha256').update(JSON.stringify(body)).digest('hex'),
    body,
  };
}

function countToolResults({ input, messages, contents }: Record<string, unknown>): number {
  return [...listOf(input), ...listOf(messages), ...listOf(contents)]
    .flatMap((item) => [item, ...listOf(item?.content), ...listOf(item?.parts)])
    .filter(isToolResult).length;
}

interface Item {
  type?: unknown;
  role?: unknown;
  content?: unknown;
  parts?: unknown;
  functionResponse?: unknown;
}

function listOf(value: unknown): (Item | null)[] {
  return Array.isArray(value) ? (value as (Item | null)[]) : [];
}

/** In the words of the Responses, Messages, Chat Completions and Gemini APIs. */
function isToolResult(item: Item | null): boolean {
  return (
    String(item?.type).endsWith('_call_output') ||
    item?.type === 'tool_result' ||
    item?.role === 'tool' ||
    item?.functionResponse !== undefined
  );
}

interface Tool {
  type?: unknown;
  name?: unknown;
  function?: { name?: unknown };
  custom?: { name?: unknown };
  functionDeclarations?: { name?: unknown }[];
}

function toolNames(tools: unknown): unknown {
  if (!Array.isArray(tools)) return tools;
  return (tools as (Tool | null)[]).map(
    (tool) =>
      tool?.functionDeclarations?.map(({ name }) => name) ??
      tool?.name ??
      tool?.function?.name ??
      tool?.custom?.name ??
      tool?.type ??
      null,
  );
}

function cut(value: unknown): unknown {
  if (typeof value === 'string') {
    // What Codex and Gemini say of the day and the folder.
    const context = /^<(environment|session)_context>/.exec(value)?.[0];
    if (context !== undefined) return `${context}…`;
    return value.length <= MAX_TEXT ? value : `${value.slice(0, MAX_TEXT)}…`;
  }
  if (Array.isArray(value)) return value.map(cut);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cut(inner)]));
  return value;
}
