import type { Config } from '../../config/config.ts';
import type { RegistryName } from '../../core/journal/egress-events.ts';
import { resolveHostUpstream } from '../../gateway/registry/host-registry-config.ts';
import type { UpstreamCredential } from '../../gateway/registry/upstream-credentials.ts';
import type { RegistryRoute } from '../../gateway/registry/registries.ts';

/** Finds routes for the registries that a step may read; the settings of the machine are read once. */
export type FindRoutes = (names: readonly RegistryName[], network: Config['network']) => Promise<RegistryRoute[]>;

/** `readCredentials`: reads the tokens of registries. The routes throw CONFIG_INVALID. */
export function openRoutes(
  home: string,
  readCredentials: (credentials: Config['network']['credentials']) => Promise<UpstreamCredential[]>,
): FindRoutes {
  const asked = new Map<RegistryName, ReturnType<typeof resolveHostUpstream>>();
  const ofMachine = (name: RegistryName) => {
    const known = asked.get(name) ?? resolveHostUpstream(name, { home, apt: '/etc/apt' });
    asked.set(name, known);
    // The settings may be fixed while the worker runs.
    known.catch(() => asked.delete(name));
    return known;
  };
  return async (names, { upstreams, registryHosts, scopes, credentials: sources }) => {
    const credentials = names.length === 0 ? [] : await readCredentials(sources);
    return Promise.all(
      names.map(async (name) => {
        const upstream = upstreams[name];
        const found = upstream === undefined ? await ofMachine(name) : { upstream, hosts: [], named: true };
        const own = name === 'npm' ? { scopes } : {};
        return { name, ...found, ...own, hosts: [...found.hosts, ...registryHosts], credentials };
      }),
    );
  };
}
