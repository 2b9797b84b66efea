import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { createFileOnce } from '../../lib/fs.ts';

const ID = /^[0-9a-f]{12}$/;

/**
 * The id of a HALO_HOME, created on first use. It is the same for all processes that share the folder, whatever its path.
 * Throws DISK_FAILED, also for a damaged id file: containers labelled with the old id would not be found under a new one.
 */
export async function readHomeId(home: string): Promise<string> {
  const file = join(home, 'id');
  const id = await readOrCreate(file).catch((error: unknown) => {
    throw unwritableHome(home, error);
  });
  if (ID.test(id)) return id;
  throw new HaloError('DISK_FAILED', `The id file ${file} of this HALO_HOME is damaged.`, {
    hint: 'Restore the file from a backup. Or stop halo, remove the file, and remove the containers and volumes with the old id (label dev.halo.home) yourself.',
  });
}

async function readOrCreate(file: string): Promise<string> {
  const read = async () => (await readFile(file, 'latin1')).trim();
  try {
    return await read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  await createFileOnce(file, `${randomBytes(6).toString('hex')}\n`);
  return read();
}

function unwritableHome(home: string, error: unknown): HaloError {
  const { message } = error as Error;
  return new HaloError('DISK_FAILED', `Could not write to ${home}: ${message}.`, {
    hint: 'Set HALO_HOME to a writable folder.',
    cause: error,
  });
}
