import type { IncomingMessage } from 'node:http';
import { safeLine } from '../../core/safe-text.ts';
import { checkBody } from './capabilities/check-body.ts';
import type { ModelOperation } from './model-operations.ts';
import type { ModelRequest } from './model-route.ts';
import { parseStrictJson } from './strict-json.ts';

/** Why a request cannot be served. */
export interface Refusal {
  status: number;
  reason: string;
}

export interface Reading {
  operation: ModelOperation;
  /** Names of the models that may be asked for. */
  models: readonly string[];
  bodyBytes: number;
  /** What is left for all bodies together; reading takes from it and gives back. */
  pool: { bytes: number };
}

/** Reads the body of a model request and makes it anew of what may pass. Throws when the client leaves. */
export async function readModelRequest(req: IncomingMessage, reading: Reading): Promise<ModelRequest | Refusal> {
  if (req.headers['content-encoding'] !== undefined) return { status: 415, reason: 'The body must not be compressed.' };
  const text = await readText(req, reading);
  if (typeof text !== 'string') return text;
  const parsed = parseStrictJson(text);
  if ('fault' in parsed) return { status: 400, reason: `The body ${parsed.fault}.` };
  if (!isObject(parsed.value)) return { status: 400, reason: 'The body is not a JSON object.' };
  const checked = checkBody(reading.operation.body, parsed.value);
  if ('reason' in checked) return { status: 400, reason: checked.reason };
  const { body } = checked;
  const model = reading.operation.model ?? (body.model as string);
  if (!reading.models.includes(model)) return { status: 400, reason: describeModel(model, reading.models) };
  return { operation: reading.operation, url: req.url ?? '', headers: req.headers, body, model };
}

function describeModel(model: string, models: readonly string[]): string {
  const allowed = models.map((name) => `"${name}"`).join(', ');
  return `The model "${safeLine(model, 100)}" is not one that may be asked for (${allowed}); add it to [model] allow.`;
}

function readText(req: IncomingMessage, { bodyBytes, pool }: Reading): Promise<string | Refusal> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const release = () => {
      pool.bytes += size;
      size = 0;
      chunks.length = 0;
    };
    const refuse = (refusal: Refusal) => {
      req.removeListener('data', take);
      release();
      resolve(refusal);
    };
    const take = (chunk: Buffer) => {
      size += chunk.length;
      pool.bytes -= chunk.length;
      if (size > bodyBytes) refuse({ status: 413, reason: `The body is larger than ${bodyBytes} bytes.` });
      else if (pool.bytes < 0) refuse({ status: 503, reason: 'Too many large requests at once; try again.' });
      else chunks.push(chunk);
    };
    req.on('data', take);
    req.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      release();
      resolve(text);
    });
    req.on('error', reject);
    req.on('close', () => {
      release();
      reject(new Error('the client left'));
    });
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
