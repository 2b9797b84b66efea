import { HaloError } from '../core/failure/errors.ts';
import { readRegularText } from '../lib/read-file.ts';

const MOST_BYTES = 8 * 1024 * 1024;
const CERTIFICATES = /-----BEGIN (TRUSTED )?CERTIFICATE-----[^-]*-----END (TRUSTED )?CERTIFICATE-----/g;

/**
 * The certificates of a PEM file, and nothing else of it: sandboxes get to read them, and such files also hold keys.
 * Throws CONFIG_INVALID.
 */
export async function readAuthorities(path: string): Promise<string> {
  const text = await readRegularText(path, MOST_BYTES).catch((error: unknown) => {
    throw refuse(path, 'cannot be read', error);
  });
  const certificates = text.match(CERTIFICATES);
  if (certificates === null) throw refuse(path, 'are none: it holds no certificate in PEM form');
  return `${certificates.join('\n')}\n`;
}

function refuse(path: string, what: string, cause?: unknown): HaloError {
  return new HaloError('CONFIG_INVALID', `The certificate authorities in ${path} ${what}.`, {
    hint: 'Mend [network] ca_file, or NODE_EXTRA_CA_CERTS of the worker.',
    cause,
  });
}
