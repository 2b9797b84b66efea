import type { Socket } from 'node:net';
import type { Connections } from '../../lib/network/connections.ts';
import type { AddressResolver } from './addresses.ts';
import type { RequestLog } from '../request-log.ts';
import type { GatewayLimits } from '../gateway-limits.ts';
import type { Registries } from '../registry/registries.ts';
import { formatEndpoint, parseEndpoint, type Endpoint } from './host-port.ts';

/** The state shared by all network access of a gateway. */
export interface EgressContext {
  /** Canonical `host:port`s. */
  allow: ReadonlySet<string>;
  registries: Registries;
  addresses: AddressResolver;
  log: RequestLog;
  limits: GatewayLimits;
  connections: Connections;
  /** Open upstream sockets, which are destroyed when the gateway closes. */
  sockets: Set<Socket>;
}

/** Parses a target. Returns the reason, for users, when it is invalid or not allowed: then it is `unlisted`. */
export function parseAllowedTarget(
  text: string,
  allow: ReadonlySet<string>,
): Endpoint | { reason: string; unlisted?: true } {
  const target = parseEndpoint(text);
  if (target === undefined) return { reason: `network: "${text}" refused; it is not a plain host:port` };
  const name = formatEndpoint(target);
  if (allow.has(name)) return target;
  return { reason: `network: ${name} refused; add it to [network] allow`, unlisted: true };
}

export function trackUpstreamSocket(network: EgressContext, socket: Socket): void {
  network.sockets.add(socket);
  socket.once('close', () => network.sockets.delete(socket));
}
