import type { Config } from '../../config/config.ts';
import type { RegistryName } from '../../core/network.ts';
import { findUpstream } from '../../gateway/registry/host-registry-config.ts';
import type { RegistryRoute } from '../../gateway/registry/registries.ts';

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
