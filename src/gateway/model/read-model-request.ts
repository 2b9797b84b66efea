import type { IncomingMessage } from 'node:http';
import type * as z from 'zod';
import { safeLine } from '../../core/text/safe-text.ts';
import { isRecord } from '../../lib/guards.ts';
import { jsonTokens } from '../../lib/parse-json.ts';
import type { ModelOperation, ModelRequest } from './model-route.ts';

/** Why a request is refused. */
interface RequestRefusal {
  status: number;
  reason: string;
}

interface Reading {
  operation: ModelOperation;
  /** Names of the allowed models. */
  models: readonly string[];
  bodyBytes: number;
  /** Budget of bytes shared by all request bodies; released when a body has been processed. */
  pool: { bytes: number };
}

/** Reads the body of a model request and reduces it to its accepted fields. Throws when the client disconnects. */
export async function readModelRequest(req: IncomingMessage, reading: Reading): Promise<ModelRequest | RequestRefusal> {
  if (req.headers['content-encoding'] !== undefined) return { status: 415, reason: 'The body must not be compressed.' };
  const text = await readBody(req, reading);
  if (typeof text !== 'string') return text;
  const parsed = parseStrictJson(text);
  if ('fault' in parsed) return { status: 400, reason: `The body ${parsed.fault}.` };
  if (!isRecord(parsed.value)) return { status: 400, reason: 'The body is not a JSON object.' };
  const checked = filterBody(reading.operation.body, parsed.value);
  if ('reason' in checked) return { status: 400, reason: checked.reason };
  const { body } = checked;
  const model = reading.operation.model ?? (body.model as string);
  if (!reading.models.includes(model)) return { status: 400, reason: describeModel(model, reading.models) };
  return { operation: reading.operation, url: req.url ?? '', headers: req.headers, body, model };
}

function describeModel(model: string, models: readonly string[]): string {
  const allowed = models.map((name) => `"${name}"`).join(', ');
  return `The model "${safeLine(model, 100)}" is not allowed (allowed: ${allowed}); add it to model.allow, and start a new run.`;
}

function readBody(req: IncomingMessage, { bodyBytes, pool }: Reading): Promise<string | RequestRefusal> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const release = () => {
      pool.bytes += size;
      size = 0;
      chunks.length = 0;
    };
    const refuseBody = (refusal: RequestRefusal) => {
      req.removeListener('data', append);
      release();
      resolve(refusal);
    };
    const append = (chunk: Buffer) => {
      size += chunk.length;
      pool.bytes -= chunk.length;
      if (size > bodyBytes) refuseBody({ status: 413, reason: `The body is larger than ${bodyBytes} bytes.` });
      else if (pool.bytes < 0)
        refuseBody({ status: 503, reason: 'Too many large requests are in progress; try again.' });
      else chunks.push(chunk);
    };
    req.on('data', append);
    req.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      release();
      resolve(text);
    });
    req.on('error', reject);
    req.on('close', () => {
      release();
      reject(new Error('the client disconnected'));
    });
  });
}

/** Reduces a body to the fields that the schema accepts; otherwise returns a sentence about the first unsupported value. */
export function filterBody(
  schema: z.ZodType<Record<string, unknown>>,
  body: Record<string, unknown>,
): { body: Record<string, unknown> } | { reason: string } {
  const parsed = schema.safeParse(body);
  if (parsed.success) return { body: parsed.data };
  const rule = parsed.error.issues.find(({ code }) => code === 'custom');
  if (rule !== undefined) return { reason: `The gateway refuses the request: ${rule.message}.` };
  const issue = deepest(parsed.error.issues);
  return { reason: describeBodyIssue(body, issue.path) };
}

interface BodyIssue {
  path: PropertyKey[];
}

/** Finds the deepest issue: among the branches of a union, that is the intended one. */
function deepest(issues: readonly z.core.$ZodIssue[], prefix: PropertyKey[] = []): BodyIssue {
  const found = issues.map((issue): BodyIssue => {
    const path = [...prefix, ...issue.path];
    if (issue.code !== 'invalid_union') return { path };
    const inner = issue.errors.filter((branch) => branch.length > 0).map((branch) => deepest(branch, path));
    return inner.reduce((best, each) => (each.path.length > best.path.length ? each : best), { path });
  });
  return found.reduce((best, each) => (each.path.length > best.path.length ? each : best), found[0] ?? { path: [] });
}

function describeBodyIssue(body: unknown, path: readonly PropertyKey[]): string {
  const location = path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}${text === '' ? '' : '.'}${String(key)}`),
    '',
  );
  const value = path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? (at as Record<PropertyKey, unknown>)[key] : undefined),
    body,
  );
  const shown = safeLine(show(value), 120);
  return `The request contains ${shown} at ${safeLine(location, 120)}, which the gateway does not accept.`;
}

function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  return JSON.stringify(value)?.slice(0, 200) ?? typeof value;
}

/** Deeper than any request of an agent, and shallow enough for recursive functions. */
const MAX_DEPTH = 100;
/** More values than a model can read. Bounded, because each value is checked. */
const MAX_VALUES = 100_000;

/** Parses JSON that every parser interprets alike; otherwise returns the fault as the end of a sentence. */
export function parseStrictJson(text: string): { value: unknown } | { fault: string } {
  try {
    // Checked first, so that a text that is too large or too deep is not parsed.
    const fault = findJsonFault(text);
    return fault === undefined ? { value: JSON.parse(text) as unknown } : { fault };
  } catch {
    return { fault: 'is not JSON' };
  }
}

interface Level {
  /** Keys of an object so far; undefined in an array. */
  keys: Set<string> | undefined;
  /** Whether the next string is a key. */
  atKey: boolean;
}

/** Finds duplicate keys, which parsers interpret differently, and exceeded limits. Throws when a key is not JSON. */
function findJsonFault(text: string): string | undefined {
  const levels: Level[] = [];
  let values = 0;
  for (const token of jsonTokens(text)) {
    if (values > MAX_VALUES) return `holds more than ${MAX_VALUES} values`;
    const level = levels.at(-1);
    switch (token) {
      case '{':
      case '[': {
        if (levels.length >= MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`;
        values++;
        const isObject = token === '{';
        levels.push({ keys: isObject ? new Set() : undefined, atKey: isObject });
        break;
      }
      case '}':
      case ']':
        levels.pop();
        break;
      case ',':
        values++;
        if (level?.keys !== undefined) level.atKey = true;
        break;
      default: {
        if (level?.keys === undefined || !level.atKey) break;
        level.atKey = false;
        // Compares keys after decoding their escapes.
        const key = JSON.parse(token) as string;
        if (key === '__proto__') return 'holds the key "__proto__"';
        if (level.keys.has(key)) return `holds the key ${JSON.stringify(key.slice(0, 60))} twice in one object`;
        level.keys.add(key);
      }
    }
  }
  return undefined;
}
