import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isGone } from '../lib/process-life.ts';

/** Folders of one process alone: probes, and runs and mirrors that are still being filled. */
const OF_A_PROCESS = /(?:^probe|\.new)-([0-9a-f]{6}-\d+-\d*)-\w+$/;

/** Nobody fills a folder or waits for a probe that long. */
const LONGEST_MS = 3_600_000;

/** Folders below a HALO_HOME whose process died before it could remove them or give them their name. */
export async function listDeadFolders(home: string): Promise<string[]> {
  const dead: string[] = [];
  const mirrors = (await namesIn(join(home, 'repos'))).map((name) => join(home, 'repos', name));
  for (const dir of [home, join(home, 'sockets'), join(home, 'runs'), ...mirrors]) {
    for (const name of await namesIn(dir)) {
      const [, mark] = OF_A_PROCESS.exec(name) ?? [];
      const path = join(dir, name);
      if (mark !== undefined && (isGone(mark) ?? (await isOlder(path, LONGEST_MS)))) dead.push(path);
    }
  }
  return dead;
}

async function isOlder(path: string, ms: number): Promise<boolean> {
  const made = await stat(path).catch(() => undefined);
  return made !== undefined && Date.now() - made.mtimeMs > ms;
}

/** What a folder holds; nothing where there is none. */
export async function namesIn(dir: string): Promise<string[]> {
  return readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
}
