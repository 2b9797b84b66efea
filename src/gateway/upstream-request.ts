import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { Transform } from 'node:stream';
import { awaitResponse } from '../lib/network/send-request.ts';
import { pinnedLookup, type ResolvedAddresses } from './egress/addresses.ts';
import { trackUpstreamSocket, type EgressContext } from './egress/egress-rules.ts';
import type { Endpoint } from './egress/host-port.ts';

const IDLE_MS = 5 * 60_000;

interface UpstreamRequest {
  method: 'GET' | 'HEAD' | 'POST';
  protocol: 'http:' | 'https:';
  target: Endpoint;
  /** The path with the query. */
  path: string;
  headers: OutgoingHttpHeaders;
  /** The verified addresses of the target. */
  found: ResolvedAddresses;
  signal: AbortSignal;
  /** Only for POST. */
  body?: Buffer;
}

/** Sends a request. The body of the response has not been read. Throws network errors. */
export function sendUpstream(
  network: EgressContext,
  { target, found, body, ...request }: UpstreamRequest,
): Promise<IncomingMessage> {
  const outgoing = network.connections.request({
    ...request,
    ...target,
    lookup: pinnedLookup(found),
    timeout: IDLE_MS,
  });
  outgoing.on('socket', (socket) => {
    if (!network.sockets.has(socket)) trackUpstreamSocket(network, socket);
  });
  outgoing.on('timeout', () => outgoing.destroy(Object.assign(new Error('no response'), { code: 'ETIMEDOUT' })));
  outgoing.end(body);
  return awaitResponse(outgoing);
}

/** Passes bytes through and reports their number to `onBytes`. Fails after more than `maxBytes`. */
export function createByteLimiter(maxBytes: number, onBytes: (bytes: number) => void): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      onBytes(chunk.length);
      done(bytes > maxBytes ? new Error(`more than ${maxBytes} bytes`) : null, chunk);
    },
  });
}
