import type { IncomingMessage } from 'node:http';
import type { ModelRequest } from './model-route.ts';

const MAX_BODY = 64 * 1024 * 1024;

/** Reads the body of a model request; gives the status and the reason when it cannot be served. Throws when the client leaves. */
export async function readModelRequest(
  req: IncomingMessage,
  maxBody = MAX_BODY,
): Promise<ModelRequest | { status: number; reason: string }> {
  if (req.headers['content-encoding'] !== undefined) return { status: 415, reason: 'The body must not be compressed.' };
  const text = await readText(req, maxBody);
  if (text === undefined) return { status: 413, reason: `The body is larger than ${maxBody} bytes.` };
  const body = parseObject(text);
  if (body === undefined) return { status: 400, reason: 'The body is not a JSON object.' };
  return { headers: req.headers, body, model: typeof body.model === 'string' ? body.model : '' };
}

function readText(req: IncomingMessage, maxBody: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBody) chunks.push(chunk);
      else resolve(undefined);
    });
    req.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    req.on('error', reject);
    req.on('close', () => reject(new Error('the client left')));
  });
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
