import { createHash } from 'node:crypto';
import { safeLine } from '../../core/text/safe-text.ts';
import { isRecord } from '../../lib/guards.ts';
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

/** The first difference between two JSON values. */
interface JsonDifference {
  /** Such as `input[3].output`; empty for the whole value. */
  path: string;
  recorded: string;
  now: string;
}

/** Compares a recorded request with the current one, in order. Returns undefined when they are equal. */
export function findFirstDifference(recorded: unknown, now: unknown, path = ''): JsonDifference | undefined {
  if (Object.is(recorded, now)) return undefined;
  if (Array.isArray(recorded) && Array.isArray(now)) return inLists(recorded, now, path);
  if (isRecord(recorded) && isRecord(now)) return inTables(recorded, now, path);
  return { path, recorded: show(recorded, now), now: show(now, recorded) };
}

/** Describes a difference as the end of a sentence: `first at input[3].output, recorded as "a", now "b"`. */
export function describeDifference({ path, recorded, now }: JsonDifference): string {
  return `first at ${safeLine(path === '' ? 'its beginning' : path, 120)}, recorded as ${recorded}, now ${now}`;
}

function inLists(recorded: unknown[], now: unknown[], path: string): JsonDifference | undefined {
  for (let index = 0; index < Math.max(recorded.length, now.length); index++) {
    const found = findFirstDifference(recorded[index], now[index], `${path}[${index}]`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function inTables(
  recorded: Record<string, unknown>,
  now: Record<string, unknown>,
  path: string,
): JsonDifference | undefined {
  for (const key of new Set([...Object.keys(recorded), ...Object.keys(now)])) {
    const found = findFirstDifference(recorded[key], now[key], path === '' ? key : `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

const SHOWN = 80;

/** Shows a long text from shortly before its first difference. */
function show(value: unknown, other: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string' && typeof other === 'string') {
    let same = 0;
    while (same < value.length && value[same] === other[same]) same += 1;
    const from = Math.max(0, same - 20);
    return JSON.stringify(safeLine(`${from > 0 ? '…' : ''}${value.slice(from, from + SHOWN * 2)}`, SHOWN));
  }
  return safeLine(JSON.stringify(value), SHOWN);
}

/** Texts that differ between identical runs: ids, times, durations. */
const VOLATILE_PATTERNS: [RegExp, string][] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, '<id>'],
  [/\bChunk ID: \w+|"chunk_id":"\w+"/g, '<chunk>'],
  [/\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?Z?)?/g, '<date>'],
  [/"wall_time_seconds":[\d.e-]+/g, '<time>'],
  [/\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|sec|seconds?|minutes?)\b/g, '<time>'],
  [/<total_tokens>\d+/g, '<total_tokens>'],
];

/** Replaces volatile texts in a JSON value, to compare the requests of two runs. */
export function stripVolatile(value: unknown): unknown {
  if (typeof value === 'string')
    return VOLATILE_PATTERNS.reduce((text, [pattern, word]) => text.replace(pattern, word), value);
  if (Array.isArray(value)) return value.map(stripVolatile);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, stripVolatile(inner)]));
}
