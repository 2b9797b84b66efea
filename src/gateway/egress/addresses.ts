import { lookup as lookupName } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describeNonPublic } from '../../lib/ip-range.ts';
import { formatTarget, type Target } from './host-port.ts';

/** All addresses of a name. */
export type Lookup = (host: string) => Promise<string[]>;

export interface AddressBook {
  /**
   * The addresses at which a target may be dialled, or a reason for people. A name is resolved once in the life of the
   * gateway, so that what was checked is what is dialled. Throws what the lookup throws.
   */
  find(target: Target): Promise<Dialled | { reason: string }>;
}

export interface Dialled {
  addresses: string[];
}

export interface AddressRules {
  /** Canonical `host:port`s that may have addresses which are not public. */
  mayBePrivate: ReadonlySet<string>;
  lookup?: Lookup;
  /** Addresses of this machine. */
  own?: () => readonly string[];
}

export function openAddressBook({ mayBePrivate, lookup = lookupAll, own = ownAddresses }: AddressRules): AddressBook {
  const known = new Map<string, Promise<string[]>>();
  const resolve = (host: string) => {
    if (isIP(host) !== 0) return Promise.resolve([host]);
    const asked = known.get(host) ?? lookup(host);
    known.set(host, asked);
    asked.catch(() => known.delete(host));
    return asked;
  };
  return {
    find: async (target) => {
      const addresses = await resolve(target.host);
      const name = formatTarget(target);
      if (mayBePrivate.has(name)) return { addresses };
      const mine = new Set(own());
      for (const address of addresses) {
        const word = describeNonPublic(address) ?? (mine.has(address) ? 'of this machine' : undefined);
        if (word === undefined) continue;
        const which = address === target.host ? 'it' : address;
        return {
          reason: `network: ${name} refused; ${which} is not a public address (${word}); see [network] private`,
        };
      }
      return { addresses };
    },
  };
}

/** Answers every lookup with these addresses, whatever name is asked for. */
export function pinned({ addresses }: Dialled): LookupFunction {
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
