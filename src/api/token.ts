import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../core/errors.ts';

/** The token kept in <HALO_HOME>/api-token, made once, for the owner alone. Throws DISK_FAILED. */
export async function ensureToken(home: string): Promise<{ token: string; path: string }> {
  const path = join(home, 'api-token');
  try {
    await mkdir(home, { recursive: true });
    await makeToken(path);
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

/** Whoever comes second finds the file and uses it; whoever dies in between leaves no empty one. */
async function makeToken(path: string): Promise<void> {
  const fresh = randomBytes(32).toString('hex');
  const aside = `${path}.${randomBytes(8).toString('hex')}`;
  await writeFile(aside, `${fresh}\n`, { mode: 0o600, flag: 'wx' });
  try {
    await link(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(aside, { force: true });
  }
}
