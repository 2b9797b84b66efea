import { readFile } from 'node:fs/promises';
import type { Config } from '../config/config.ts';
import { HaloError } from '../core/errors.ts';
import type { RegistryName } from '../core/network.ts';
import { findUpstream } from '../gateway/machine-upstream.ts';
import type { RegistryRoute } from '../gateway/registry.ts';

/** Finds routes for the registries that a step may read; what the machine itself says is asked once. */
export type FindRoutes = (names: readonly RegistryName[], network: Config['network']) => Promise<RegistryRoute[]>;

export function openRoutes(home: string): FindRoutes {
  const asked = new Map<RegistryName, ReturnType<typeof findUpstream>>();
  const ofMachine = (name: RegistryName) => {
    const known = asked.get(name) ?? findUpstream(name, { home, apt: '/etc/apt' });
    asked.set(name, known);
    // It may be mended while the worker lives.
    known.catch(() => asked.delete(name));
    return known;
  };
  return (names, { upstreams, registryHosts }) =>
    Promise.all(
      names.map(async (name) => {
        const upstream = upstreams[name];
        const found = upstream === undefined ? await ofMachine(name) : { upstream, hosts: [], named: true };
        return { name, ...found, hosts: [...found.hosts, ...registryHosts] };
      }),
    );
}

/** The text of a file of certificate authorities. Throws CONFIG_INVALID. */
export async function readAuthorities(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new HaloError('CONFIG_INVALID', `The certificate authorities in ${path} cannot be read.`, {
      hint: 'Mend [network] ca_file, or NODE_EXTRA_CA_CERTS of the worker.',
      cause: error,
    });
  }
}
