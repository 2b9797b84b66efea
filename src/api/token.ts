import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../core/errors.ts';

/** The token kept in <HALO_HOME>/api-token, made once, for the owner alone. Throws DISK_FAILED. */
export async function ensureToken(home: string): Promise<{ token: string; path: string }> {
  const path = join(home, 'api-token');
  try {
    await mkdir(home, { recursive: true });
    const fresh = randomBytes(32).toString('hex');
    // Whoever comes second finds the file and uses it.
    await writeFile(path, `${fresh}\n`, { mode: 0o600, flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    const token = (await readFile(path, 'utf8')).trim();
    if (token !== '') return { token, path };
  } catch (cause) {
    throw new HaloError('DISK_FAILED', `The API token cannot be kept in ${path}.`, {
      hint: 'Make the folder writable, or set HALO_TOKEN.',
      cause,
    });
  }
  throw new HaloError('DISK_FAILED', `The API token in ${path} is empty.`, {
    hint: 'Remove the file; the next start makes a new one.',
  });
}
