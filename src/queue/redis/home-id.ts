import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { makeOnce } from '../../lib/make-once.ts';

const ID = /^[0-9a-f]{12}$/;

/**
 * The id of a HALO_HOME, made at its first use: the same for all who share the folder, whatever path they see it at.
 * Throws DISK_FAILED, also for a file that holds no id: another one would not find what is labelled with it.
 */
export async function readHomeId(home: string): Promise<string> {
  const file = join(home, 'id');
  const id = await readOrMake(file).catch((error: unknown) => {
    throw unusable(home, error);
  });
  if (ID.test(id)) return id;
  throw new HaloError('DISK_FAILED', `The id of this HALO_HOME, in ${file}, is damaged.`, {
    hint: 'Restore the file from a backup; or remove it while no halo works there, then containers and volumes that carry the old id (label dev.halo.home) are yours to remove.',
  });
}

async function readOrMake(file: string): Promise<string> {
  const read = async () => (await readFile(file, 'latin1')).trim();
  try {
    return await read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  await makeOnce(file, `${randomBytes(6).toString('hex')}\n`);
  return read();
}

function unusable(home: string, error: unknown): HaloError {
  const { message } = error as Error;
  return new HaloError('DISK_FAILED', `Could not write to ${home}: ${message}.`, {
    hint: 'Set HALO_HOME to a folder that you may write.',
    cause: error,
  });
}
