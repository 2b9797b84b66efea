import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { pinned, type Dialled } from './egress/addresses.ts';
import { answerOf } from './await-response.ts';
import { keepOutside, type Network } from './network.ts';
import type { Target } from './egress/host-port.ts';

const IDLE_MS = 5 * 60_000;

export interface OutsideRequest {
  method: 'GET' | 'HEAD';
  protocol: 'http:' | 'https:';
  target: Target;
  /** As it goes out, with the query. */
  path: string;
  headers: OutgoingHttpHeaders;
  /** Where it goes, whatever its name means by now. */
  found: Dialled;
  signal: AbortSignal;
}

/** Connections that are kept open between the requests of one gateway. */
export interface Outside {
  /** Asks without a body. Throws what the network throws; the answer's body is not read yet. */
  ask(request: OutsideRequest): Promise<IncomingMessage>;
  close(): void;
}

export function openOutside(network: Network): Outside {
  const kept = { keepAlive: true, maxSockets: 32 };
  const agents = {
    'http:': new HttpAgent(kept),
    'https:': new HttpsAgent({ ...kept, ...(network.trust === undefined ? {} : { secureContext: network.trust }) }),
  };
  return {
    ask: ({ protocol, target, found, ...request }) => {
      const options = { ...request, ...target, lookup: pinned(found), agent: agents[protocol], timeout: IDLE_MS };
      const outgoing = protocol === 'https:' ? httpsRequest(options) : httpRequest(options);
      outgoing.on('socket', (socket) => {
        if (!network.outside.has(socket)) keepOutside(network, socket);
      });
      outgoing.on('timeout', () => outgoing.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })));
      outgoing.end();
      return answerOf(outgoing);
    },
    close: () => Object.values(agents).forEach((agent) => agent.destroy()),
  };
}
