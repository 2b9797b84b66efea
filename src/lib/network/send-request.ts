import type { ClientRequest, IncomingMessage } from 'node:http';
import type { LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
import type { Connections } from './connections.ts';

interface SentRequest {
  method: string;
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
  /** Resolves the name; not used through a proxy. */
  lookup?: LookupFunction;
}

/** Statuses that have no body. */
const WITHOUT_BODY = [204, 205, 304];

/** As `fetch`, through the connections of this machine, without following redirects. Throws network errors. */
export async function sendRequest(
  connections: Connections,
  url: string,
  { body, ...request }: SentRequest,
): Promise<Response> {
  const { protocol, hostname, port, pathname, search } = new URL(url);
  const isSecure = protocol === 'https:';
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const sent = connections.request({
    ...request,
    protocol: isSecure ? 'https:' : 'http:',
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (isSecure ? 443 : 80)),
    path: `${pathname}${search}`,
    headers: { ...request.headers, ...length },
  });
  sent.end(body);
  const response = await awaitResponse(sent);
  const status = response.statusCode ?? 0;
  const headers = new Headers(
    Object.entries(response.headers).flatMap(([name, value]) =>
      [value ?? []].flat().map((each): [string, string] => [name, each]),
    ),
  );
  if (WITHOUT_BODY.includes(status)) response.resume();
  return new Response(WITHOUT_BODY.includes(status) ? null : (Readable.toWeb(response) as ReadableStream), {
    status,
    headers,
  });
}

/**
 * Waits for the response to a request that was sent. Its body has not been read. A protocol switch (status 101) or an
 * invalid status is an error. Throws network errors.
 */
export function awaitResponse(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const refuseResponse = (why: string) => {
      outgoing.destroy();
      reject(Object.assign(new Error(why), { code: 'EPROTO' }));
    };
    outgoing.once('response', (response: IncomingMessage) => {
      const { statusCode = 0 } = response;
      if (statusCode >= 200 && statusCode <= 599) resolve(response);
      else refuseResponse(`status ${statusCode}`);
    });
    // Not removed: an abort during the response also emits an error on the request.
    outgoing.on('error', reject);
    // Node can close a request without an error.
    outgoing.once('close', () => refuseResponse('no response'));
  });
}

/** The wait that the header `Retry-After` asks for (seconds, or a date), in ms; undefined: none, or not readable. */
export function parseRetryAfter(header: string | null | undefined, now = Date.now()): number | undefined {
  if (header === null || header === undefined) return undefined;
  const ms = /^\d+(\.\d+)?$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
