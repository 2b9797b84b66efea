import { lookup as lookupName } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describeNonPublic } from '../../lib/ip-range.ts';
import { formatEndpoint, type Endpoint } from './host-port.ts';

/** Resolves a host name to all its addresses. */
export type Lookup = (host: string) => Promise<string[]>;

export interface AddressResolver {
  /**
   * Returns the addresses to which a connection is allowed, or a reason for users. A name is resolved once per gateway,
   * so that connections use the verified addresses. Through a proxy, which resolves names itself, a name that this machine
   * cannot resolve is allowed, without addresses. Throws lookup errors.
   */
  find(target: Endpoint, protocol?: string): Promise<ResolvedAddresses | { reason: string }>;
}

export interface ResolvedAddresses {
  addresses: string[];
}

interface AddressResolverOptions {
  /** Canonical `host:port`s that may resolve to non-public addresses. */
  mayBePrivate: ReadonlySet<string>;
  lookup?: Lookup;
  /** Whether a proxy connects to the target. */
  isProxied?: (protocol: 'http:' | 'https:', target: Endpoint) => boolean;
  /** The addresses of this machine. */
  own?: () => readonly string[];
}

export function createAddressResolver({
  mayBePrivate,
  lookup = lookupAll,
  isProxied = () => false,
  own = ownAddresses,
}: AddressResolverOptions): AddressResolver {
  const known = new Map<string, Promise<string[]>>();
  const resolve = (host: string) => {
    if (isIP(host) !== 0) return Promise.resolve([host]);
    const asked = known.get(host) ?? lookup(host);
    known.set(host, asked);
    asked.catch(() => known.delete(host));
    return asked;
  };
  const attempts = new Map<string, Promise<string[]>>();
  /** A resolver that does not answer delays only the first request. */
  const resolveIfKnown = (host: string) => {
    const asked = attempts.get(host) ?? resolve(host).catch(() => []);
    attempts.set(host, asked);
    return asked;
  };
  return {
    find: async (target, protocol) => {
      const name = formatEndpoint(target);
      const viaProxy = isProxied(protocol === 'http:' ? 'http:' : 'https:', target);
      if (viaProxy && mayBePrivate.has(name)) return { addresses: [] };
      const addresses = await (viaProxy ? resolveIfKnown(target.host) : resolve(target.host));
      if (mayBePrivate.has(name)) return { addresses };
      const mine = new Set(own());
      for (const address of addresses) {
        const kind = describeNonPublic(address) ?? (mine.has(address) ? 'of this machine' : undefined);
        if (kind === undefined) continue;
        const which = address === target.host ? 'it' : address;
        return {
          reason: `network: ${name} refused; ${which} is not a public address (${kind}); see [network] private`,
        };
      }
      return { addresses };
    },
  };
}

/** A lookup function that returns these addresses for every name. */
export function pinnedLookup({ addresses }: ResolvedAddresses): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, options, done) => {
    const [first] = entries;
    if (first === undefined) done(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), []);
    else if (options.all === true) done(null, entries);
    else done(null, first.address, first.family);
  };
}

async function lookupAll(host: string): Promise<string[]> {
  return (await lookupName(host, { all: true })).map(({ address }) => address);
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
}
