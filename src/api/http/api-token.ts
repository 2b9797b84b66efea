import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { createFileOnce } from '../../lib/fs.ts';

/** Characters that are valid in an HTTP header. */
const TOKEN = /^[\x21-\x7e]+$/;

/** Reads the token in <HALO_HOME>/api-token, or creates it, readable only by its owner. Throws DISK_FAILED. */
export async function ensureToken(home: string): Promise<{ token: string; path: string }> {
  const path = join(home, 'api-token');
  let token: string;
  try {
    await createFileOnce(path, `${randomBytes(32).toString('hex')}\n`);
    token = (await readFile(path, 'latin1')).trim();
  } catch (cause) {
    throw new HaloError('DISK_FAILED', `The API token cannot be stored in ${path}.`, {
      hint: 'Make the folder writable, or set HALO_TOKEN.',
      cause,
    });
  }
  if (TOKEN.test(token)) return { token, path };
  throw new HaloError('DISK_FAILED', `The API token in ${path} is damaged or empty.`, {
    hint: 'Remove the file; the next start creates a new one.',
  });
}
