import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The data files of the supported server versions. */
const DATA_FILES = ['appendonlydir', 'appendonly.aof', 'dump.rdb'];
const REASON_FILE = 'why.txt';
/** Exists once the damage has been reported. */
const REPORTED_FILE = 'told';

/** Data with which the embedded server could not start. */
interface DamagedRedisData {
  /** Absolute path of the folder that holds the data. */
  folder: string;
  /** The time and the error message of the server. */
  why: string;
}

/**
 * Moves the data of the server that works in `dir` to the folder `damaged`, replacing earlier damaged data. Returns a
 * function that moves it back, or undefined when there is no data.
 */
export async function setAsideRedisData(dir: string, why: string): Promise<(() => Promise<void>) | undefined> {
  const folder = folderIn(dir);
  const filling = `${folder}.new`;
  await rm(filling, { recursive: true, force: true });
  await mkdir(filling, { mode: 0o700 });
  const moved: string[] = [];
  for (const name of DATA_FILES) if (await moveIfExists(join(dir, name), join(filling, name))) moved.push(name);
  if (moved.length === 0) {
    await rm(filling, { recursive: true, force: true });
    return undefined;
  }
  await writeFile(join(filling, REASON_FILE), `${new Date().toISOString()} ${why}\n`, { mode: 0o600 });
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

/** The damaged data that was set aside in this HALO_HOME, if it still exists. */
export async function readDamagedRedisData(home: string): Promise<DamagedRedisData | undefined> {
  const folder = folderIn(join(home, 'redis'));
  const why = await readFile(join(folder, REASON_FILE), 'utf8').catch(() => undefined);
  return why === undefined ? undefined : { folder, why: why.trim() };
}

/** Returns the damaged data to the first caller only, so that it is reported once. */
export async function claimDamagedRedisData(home: string): Promise<DamagedRedisData | undefined> {
  const found = await readDamagedRedisData(home);
  if (found === undefined) return undefined;
  const first = await writeFile(join(found.folder, REPORTED_FILE), '', { flag: 'wx', mode: 0o600 }).then(
    () => true,
    () => false,
  );
  return first ? found : undefined;
}

function folderIn(dir: string): string {
  return join(dir, 'damaged');
}

async function moveIfExists(from: string, to: string): Promise<boolean> {
  return rename(from, to).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}
