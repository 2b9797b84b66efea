import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../core/errors.ts';

/**
 * The id of a HALO_HOME, made at its first use: the same for all who share the folder, whatever path they see it at.
 * Throws DISK_FAILED.
 */
export async function readHomeId(home: string): Promise<string> {
  const file = join(home, 'id');
  try {
    return await readId(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unusable(home, error);
  }
  const fresh = `${file}.${randomBytes(4).toString('hex')}`;
  try {
    await mkdir(home, { recursive: true, mode: 0o700 });
    await writeFile(fresh, `${randomBytes(6).toString('hex')}\n`, { mode: 0o600 });
    // Of several who come first at the same moment, one wins and all read the same.
    await link(fresh, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    return await readId(file);
  } catch (error) {
    throw unusable(home, error);
  } finally {
    await rm(fresh, { force: true }).catch(() => {});
  }
}

async function readId(file: string): Promise<string> {
  return (await readFile(file, 'utf8')).trim();
}

function unusable(home: string, error: unknown): HaloError {
  const { message } = error as Error;
  return new HaloError('DISK_FAILED', `Could not write to ${home}: ${message}.`, {
    hint: 'Set HALO_HOME to a folder that you may write.',
    cause: error,
  });
}
