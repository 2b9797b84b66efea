import type { Config } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { openCredential, type UpstreamCredential } from '../../gateway/registry/upstream-credentials.ts';
import type { SecretReader } from './secret-reader.ts';

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
