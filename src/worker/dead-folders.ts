import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isLeftBehind } from '../lib/process-identity.ts';

/** Folders of one process alone: probes, and runs and mirrors that are still being filled. */
const OF_A_PROCESS = /(?:^probe|\.new)-([0-9a-f]{6}-\d+-\d*)-\w+$/;

/** Folders below a HALO_HOME whose process died before it could remove them or give them their name. */
export async function listDeadFolders(home: string): Promise<string[]> {
  const dead: string[] = [];
  const mirrors = (await namesIn(join(home, 'repos'))).map((name) => join(home, 'repos', name));
  const views = mirrors.map((mirror) => join(mirror, 'views'));
  for (const dir of [home, join(home, 'sockets'), join(home, 'runs'), ...mirrors, ...views]) {
    for (const name of await namesIn(dir)) {
      const [, mark] = OF_A_PROCESS.exec(name) ?? [];
      const path = join(dir, name);
      if (mark !== undefined && isLeftBehind(mark, await madeMs(path))) dead.push(path);
    }
  }
  return dead;
}

/** NaN where somebody was quicker to remove it. */
async function madeMs(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.mtimeMs ?? NaN;
}

/** What a folder holds; nothing where there is none. */
export async function namesIn(dir: string): Promise<string[]> {
  return readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
}
