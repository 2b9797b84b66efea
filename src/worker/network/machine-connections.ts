import { readProxies, readSecret, type Env } from '../../config/environment/host.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { readRegularText } from '../../lib/fs.ts';
import { openConnections, type ConnectionOptions, type Connections } from '../../lib/network/connections.ts';

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

const MAX_BYTES = 8 * 1024 * 1024;
const CERTIFICATES = /-----BEGIN (TRUSTED )?CERTIFICATE-----[^-]*-----END (TRUSTED )?CERTIFICATE-----/g;

/**
 * Reads the certificates of a PEM file and drops everything else: sandboxes can read the result, and such files may hold
 * keys. Throws CONFIG_INVALID.
 */
export async function readCaCertificates(path: string): Promise<string> {
  const text = await readRegularText(path, MAX_BYTES).catch((error: unknown) => {
    throw invalidCaFile(path, 'cannot be read', error);
  });
  const certificates = text.match(CERTIFICATES);
  if (certificates === null)
    throw invalidCaFile(path, 'cannot be used: the file contains no certificate in PEM format');
  return `${certificates.join('\n')}\n`;
}

function invalidCaFile(path: string, what: string, cause?: unknown): HaloError {
  return new HaloError('CONFIG_INVALID', `The certificate authorities in ${path} ${what}.`, {
    hint: 'Fix [network] ca_file, or NODE_EXTRA_CA_CERTS of the worker.',
    cause,
  });
}
