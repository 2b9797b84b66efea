import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Where a server keeps its data, in the versions that halo runs with. */
const DATA = ['appendonlydir', 'appendonly.aof', 'dump.rdb'];
const WHY = 'why.txt';
const TOLD = 'told';

/** Data of the embedded server that it could not start with. */
export interface SetAside {
  /** Absolute path of the folder that has it. */
  folder: string;
  /** What the server said, and when. */
  why: string;
}

/**
 * Moves the data of the server that works in `dir` to a folder in it, where the newest of its kind is kept. Answers with
 * the way to move it back; undefined where there is no data.
 */
export async function setDataAside(dir: string, why: string): Promise<(() => Promise<void>) | undefined> {
  const folder = folderIn(dir);
  const filling = `${folder}.new`;
  await rm(filling, { recursive: true, force: true });
  await mkdir(filling, { mode: 0o700 });
  const moved: string[] = [];
  for (const name of DATA) if (await moveIfThere(join(dir, name), join(filling, name))) moved.push(name);
  if (moved.length === 0) {
    await rm(filling, { recursive: true, force: true });
    return undefined;
  }
  await writeFile(join(filling, WHY), `${new Date().toISOString()} ${why}\n`, { mode: 0o600 });
  await rm(folder, { recursive: true, force: true });
  await rename(filling, folder);
  return async () => {
    for (const name of moved) {
      await rm(join(dir, name), { recursive: true, force: true });
      await rename(join(folder, name), join(dir, name));
    }
    await rm(folder, { recursive: true, force: true });
  };
}

/** The data that was set aside in this HALO_HOME and is still there. */
export async function readSetAside(home: string): Promise<SetAside | undefined> {
  const folder = folderIn(join(home, 'redis'));
  const why = await readFile(join(folder, WHY), 'utf8').catch(() => undefined);
  return why === undefined ? undefined : { folder, why: why.trim() };
}

/** The same for whoever asks first, so that it is said once. */
export async function takeSetAside(home: string): Promise<SetAside | undefined> {
  const found = await readSetAside(home);
  if (found === undefined) return undefined;
  const first = await writeFile(join(found.folder, TOLD), '', { flag: 'wx', mode: 0o600 }).then(
    () => true,
    () => false,
  );
  return first ? found : undefined;
}

function folderIn(dir: string): string {
  return join(dir, 'damaged');
}

async function moveIfThere(from: string, to: string): Promise<boolean> {
  return rename(from, to).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}
