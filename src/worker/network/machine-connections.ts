import { readProxies, readSecret, type Env } from '../../config/environment/host.ts';
import { openConnections, type ConnectionOptions, type Connections } from '../../lib/network/connections.ts';
import { readCaCertificates } from './ca-certificates.ts';

/** How this machine reaches others. `caFile`: `[network] ca_file`, or NODE_EXTRA_CA_CERTS if undefined. Throws CONFIG_INVALID. */
export async function readConnectionOptions(env: Env, caFile: string | undefined): Promise<ConnectionOptions> {
  const file = caFile ?? readSecret(env, 'NODE_EXTRA_CA_CERTS');
  return {
    proxies: readProxies(env),
    certificateAuthorities: file === undefined ? undefined : await readCaCertificates(file),
  };
}

/** The same, opened. */
export async function openMachineConnections(env: Env, caFile: string | undefined): Promise<Connections> {
  return openConnections(await readConnectionOptions(env, caFile));
}
