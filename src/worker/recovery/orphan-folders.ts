import { stat } from 'node:fs/promises';
import { readFolder } from '../../lib/fs.ts';
import { join } from 'node:path';
import { isOrphaned } from '../../lib/process-identity.ts';

/** Folders that belong to one process: probes, and runs and mirrors that are being created. */
const OF_A_PROCESS = /(?:^probe|\.new)-([0-9a-f]{6}-\d+-\d*)-\w+$/;

/** Folders below a HALO_HOME whose process died before it removed or renamed them. */
export async function listOrphanFolders(home: string): Promise<string[]> {
  const dead: string[] = [];
  const mirrors = (await readFolder(join(home, 'repos'))).map((name) => join(home, 'repos', name));
  const views = mirrors.map((mirror) => join(mirror, 'views'));
  for (const dir of [home, join(home, 'sockets'), join(home, 'runs'), ...mirrors, ...views]) {
    for (const name of await readFolder(dir)) {
      const [, mark] = OF_A_PROCESS.exec(name) ?? [];
      const path = join(dir, name);
      if (mark !== undefined && isOrphaned(mark, await madeMs(path))) dead.push(path);
    }
  }
  return dead;
}

/** NaN if it was removed in the meantime. */
async function madeMs(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.mtimeMs ?? NaN;
}
