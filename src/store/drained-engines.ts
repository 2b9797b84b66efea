import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePrivateFolder, pathExists, syncPath } from '../lib/fs.ts';
import { withDiskErrors } from './disk-errors.ts';

/** Whether an engine takes no stories until it is resumed, whichever workers it has. Throws DISK_FAILED. */
export async function isEngineDrained(home: string, name: string): Promise<boolean> {
  return withDiskErrors(home, () => pathExists(markOf(home, name)));
}

/** Notes, durably, whether an engine takes no stories until it is resumed. Workers read it when they start. Throws DISK_FAILED. */
export async function noteDrained(home: string, name: string, drained: boolean): Promise<void> {
  const mark = markOf(home, name);
  await withDiskErrors(mark, async () => {
    if (!drained) return rm(mark, { force: true });
    const folder = join(home, 'engines', name);
    await ensurePrivateFolder(join(home, 'engines'));
    await ensurePrivateFolder(folder);
    await writeFile(mark, '', { mode: 0o600 });
    await syncPath(folder);
  });
}

/** Beside the keys of the engine, with which it is removed. */
function markOf(home: string, name: string): string {
  return join(home, 'engines', name, 'drained');
}
