import type { Config } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { RegistryName } from '../../core/journal/egress-events.ts';
import { resolveHostUpstream } from '../../gateway/registry/host-registry-config.ts';
import type { RegistryRoute } from '../../gateway/registry/registries.ts';
import { openCredential, type UpstreamCredential } from '../../gateway/registry/upstream-credentials.ts';
import type { SecretReader } from './secret-reader.ts';

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

/**
 * Reads the credentials of package registries as configured; what they send is masked in all records from then on. Throws
 * CONFIG_INVALID.
 */
export function openRegistryCredentials(
  read: SecretReader,
  learn: (secrets: readonly string[]) => void,
): (credentials: Config['network']['credentials']) => Promise<UpstreamCredential[]> {
  const readOne = async (address: string, source: Config['network']['credentials'][string]) => {
    const { tokenEnv, tokenFile, tokenCommand, user = '' } = source;
    const { scheme = user === '' ? 'bearer' : 'basic' } = source;
    const token = await read(
      { env: tokenEnv, file: tokenFile, command: tokenCommand },
      {
        code: 'CONFIG_INVALID',
        what: `token of ${address}`,
        table: `[network.credentials."${address}"]`,
        keys: ['token_env', 'token_file', 'token_command'],
      },
    );
    const credential = openCredential(address, { scheme, user, token });
    if (credential === undefined) {
      throw new HaloError('CONFIG_INVALID', `[network.credentials."${address}"] does not name a host.`, {
        hint: 'Write it like "packages.example.com" or "packages.example.com:8443/npm".',
      });
    }
    learn([token, credential.authorization.replace(/^\w+ /, '')]);
    return credential;
  };
  return (credentials) => Promise.all(Object.entries(credentials).map(([address, source]) => readOne(address, source)));
}
