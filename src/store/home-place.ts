import { realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../core/failure/errors.ts';
import { readIfExists, writeAtomic } from '../lib/fs.ts';
import { withDiskErrors } from './disk-errors.ts';

/**
 * Notes where a HALO_HOME is, in its file `place`. Throws CONFIG_INVALID for a copy next to its original: both have the same
 * id, so a worker of the copy would remove the containers of stories that run in the original, of which it has no journal.
 */
export async function assertOnlyHome(home: string): Promise<void> {
  const file = join(home, 'place');
  await withDiskErrors(file, async () => {
    const place = await realpath(home);
    const noted = (await readIfExists(file))?.replace(/\n$/, '');
    if (noted === place) return;
    if (noted !== undefined && (await isOriginal(noted, place))) throw isCopy(place, noted);
    await writeAtomic(file, `${place}\n`);
  });
}

/** Whether another folder has the same id. A home that was moved, or is mounted elsewhere, has no other. */
async function isOriginal(noted: string, place: string): Promise<boolean> {
  try {
    const [other, own] = await Promise.all([stat(noted), stat(place)]);
    if (other.ino === own.ino && other.dev === own.dev) return false;
    const [otherId, id] = await Promise.all([noted, place].map((dir) => readIfExists(join(dir, 'id'))));
    return id !== undefined && otherId === id;
  } catch {
    return false;
  }
}

function isCopy(place: string, original: string): HaloError {
  return new HaloError('CONFIG_INVALID', `The HALO_HOME ${place} is a copy of ${original}, with the same id.`, {
    hint: `Use the original. Or remove the files id and place and the folder snapshots from the copy, so that it becomes a home of its own; or move the original away.`,
  });
}
