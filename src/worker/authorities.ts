import { readFile } from 'node:fs/promises';
import { HaloError } from '../core/errors.ts';

const CERTIFICATES = /-----BEGIN (TRUSTED )?CERTIFICATE-----[^-]*-----END (TRUSTED )?CERTIFICATE-----/g;

/**
 * The certificates of a PEM file, and nothing else of it: sandboxes get to read them, and such files also hold keys.
 * Throws CONFIG_INVALID.
 */
export async function readAuthorities(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
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
