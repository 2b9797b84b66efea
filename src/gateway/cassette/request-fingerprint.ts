import { createHash } from 'node:crypto';
import type { Masker } from '../../lib/secrets/masker.ts';
import type { ModelRequest } from '../model/model-route.ts';

/** Keys that differ between runs of the same story or are irrelevant to it. */
const VOLATILE = ['prompt_cache_key', 'client_metadata', 'include', 'store', 'stream', 'metadata', 'stream_options'];
const MAX_TEXT = 600;

/** The part of a request that a cassette stores and a replay compares. */
export interface RequestFingerprint {
  model: string;
  /** The number of tool results in the request. */
  toolResults: number;
  /** sha256 of `body` as JSON, hex. */
  digest: string;
  /** The body without volatile keys. Long texts are truncated and tools are reduced to their names. */
  body: unknown;
}

/** Computes the fingerprint of a request. Secrets are masked before truncation, so that none is cut and missed. */
export function fingerprintRequest(request: ModelRequest, masker: Masker): RequestFingerprint {
  const kept = Object.entries(masker.value(request.body)).filter(([key]) => !VOLATILE.includes(key));
  const body = Object.fromEntries(
    kept.map(([key, value]) => [key, key === 'tools' ? toolNames(value) : truncateTexts(value)]),
  );
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

/** Recognizes the formats of the Responses, Messages, Chat Completions and Gemini APIs. */
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

function truncateTexts(value: unknown): unknown {
  if (typeof value === 'string') {
    // The context of Codex and Gemini: the date and the folder.
    const context = /^<(environment|session)_context>/.exec(value)?.[0];
    if (context !== undefined) return `${context}…`;
    return value.length <= MAX_TEXT ? value : `${value.slice(0, MAX_TEXT)}…`;
  }
  if (Array.isArray(value)) return value.map(truncateTexts);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, truncateTexts(inner)]));
  return value;
}
