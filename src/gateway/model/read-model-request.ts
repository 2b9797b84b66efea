import type { IncomingMessage } from 'node:http';
import { safeLine } from '../../core/text/safe-text.ts';
import { filterBody } from './capabilities/check-body.ts';
import type { ModelOperation } from './model-operations.ts';
import type { ModelRequest } from './model-route.ts';
import { parseStrictJson } from './strict-json.ts';
import { isRecord } from '../../lib/guards.ts';

/** Why a request is refused. */
export interface RequestRefusal {
  status: number;
  reason: string;
}

export interface Reading {
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
  return `The model "${safeLine(model, 100)}" is not allowed (allowed: ${allowed}); add it to [model] allow.`;
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
