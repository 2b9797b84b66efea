import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { pinnedLookup, type ResolvedAddresses } from './egress/addresses.ts';
import { awaitResponse } from './await-response.ts';
import { trackUpstreamSocket, type EgressContext } from './egress/egress-rules.ts';
import type { Endpoint } from './egress/host-port.ts';
import { defined } from '../lib/guards.ts';

const IDLE_MS = 5 * 60_000;

export interface UpstreamRequest {
  method: 'GET' | 'HEAD';
  protocol: 'http:' | 'https:';
  target: Endpoint;
  /** The path with the query. */
  path: string;
  headers: OutgoingHttpHeaders;
  /** The verified addresses of the target. */
  found: ResolvedAddresses;
  signal: AbortSignal;
}

/** An HTTP client with keep-alive connections for one gateway. */
export interface UpstreamClient {
  /** Sends a request without a body. The body of the response has not been read. Throws network errors. */
  ask(request: UpstreamRequest): Promise<IncomingMessage>;
  close(): void;
}

export function createUpstreamClient(network: EgressContext): UpstreamClient {
  const kept = { keepAlive: true, maxSockets: 32 };
  const agents = {
    'http:': new HttpAgent(kept),
    'https:': new HttpsAgent({ ...kept, ...defined({ secureContext: network.trust }) }),
  };
  return {
    ask: ({ protocol, target, found, ...request }) => {
      const options = { ...request, ...target, lookup: pinnedLookup(found), agent: agents[protocol], timeout: IDLE_MS };
      const outgoing = protocol === 'https:' ? httpsRequest(options) : httpRequest(options);
      outgoing.on('socket', (socket) => {
        if (!network.sockets.has(socket)) trackUpstreamSocket(network, socket);
      });
      outgoing.on('timeout', () => outgoing.destroy(Object.assign(new Error('no response'), { code: 'ETIMEDOUT' })));
      outgoing.end();
      return awaitResponse(outgoing);
    },
    close: () => Object.values(agents).forEach((agent) => agent.destroy()),
  };
}
