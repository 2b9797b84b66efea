import type { LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
import { awaitResponse } from './await-response.ts';
import type { Connections } from './connections.ts';

export interface SentRequest {
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
