import type { OidcSettings } from '../../config/config.ts';
import { readCaFile } from '../../config/host-rules.ts';
import { readSecret, type Env } from '../../config/environment/host.ts';
import type { Masker } from '../../lib/secrets/masker.ts';
import { openMachineConnections } from '../../worker/network/machine-connections.ts';
import { openSecretReader } from '../../worker/network/secret-reader.ts';
import { OidcProvider } from './oidc-provider.ts';

const PURPOSE = {
  code: 'CONFIG_INVALID',
  what: 'client secret',
  table: '[server.oidc]',
  keys: ['client_secret_env', 'client_secret_file', 'client_secret_command'],
} as const;

/** Opens the provider of `[server.oidc]` with the secrets and connections of this machine. Throws CONFIG_INVALID. */
export async function openOidcProvider(
  settings: OidcSettings,
  { callback, env, masker, home }: { callback: string; env: Env; masker: Masker; home: string },
): Promise<OidcProvider> {
  const read = openSecretReader((name) => readSecret(env, name));
  const readClientSecret = async () => {
    const { clientSecretEnv: env, clientSecretFile: file, clientSecretCommand: command } = settings;
    const secret = await read({ env, file, command }, PURPOSE);
    masker.learn([secret]);
    return secret;
  };
  // A missing secret is a mistake in the configuration, which the start of the server shows.
  await readClientSecret();
  const connections = await openMachineConnections(env, await readCaFile(home));
  return new OidcProvider({ settings, callback, readSecret: readClientSecret, connections });
}
