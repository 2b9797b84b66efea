import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { AddressBook } from './egress/addresses.ts';
import type { Ledger } from './ledger.ts';
import type { GatewayLimits } from './gateway-limits.ts';
import type { Registries } from './registry/registries.ts';
import { formatTarget, parseTarget, type Target } from './egress/host-port.ts';

/** What the network doors of a gateway share. */
export interface Network {
  /** Canonical `host:port`s. */
  allow: ReadonlySet<string>;
  registries: Registries;
  addresses: AddressBook;
  ledger: Ledger;
  limits: GatewayLimits;
  /** Which authorities are trusted upstream. */
  trust: SecureContext | undefined;
  /** Sockets to the outside, so that closing the gateway ends them. */
  outside: Set<Socket>;
}

/** The target when it is allowed, else the reason for people. */
export function checkTarget(text: string, allow: ReadonlySet<string>): Target | { reason: string } {
  const target = parseTarget(text);
  if (target === undefined) return { reason: `network: "${text}" refused; it is not a plain host:port` };
  const name = formatTarget(target);
  return allow.has(name) ? target : { reason: `network: ${name} refused; add it to [network] allow` };
}

export function keepOutside(network: Network, socket: Socket): void {
  network.outside.add(socket);
  socket.once('close', () => network.outside.delete(socket));
}
