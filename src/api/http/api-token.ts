import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { makeOnce } from '../../lib/make-once.ts';

/** What an HTTP header can carry. */
const TOKEN = /^[\x21-\x7e]+$/;

/** The token kept in <HALO_HOME>/api-token, made once, for the owner alone. Throws DISK_FAILED. */
export async function ensureToken(home: string): Promise<{ token: string; path: string }> {
  const path = join(home, 'api-token');
  let token: string;
  try {
    await makeOnce(path, `${randomBytes(32).toString('hex')}\n`);
    token = (await readFile(path, 'latin1')).trim();
  } catch (cause) {
    throw new HaloError('DISK_FAILED', `The API token cannot be kept in ${path}.`, {
      hint: 'Make the folder writable, or set HALO_TOKEN.',
      cause,
    });
  }
  if (TOKEN.test(token)) return { token, path };
  throw new HaloError('DISK_FAILED', `The API token in ${path} is damaged or empty.`, {
    hint: 'Remove the file; the next start makes a new one.',
  });
}
