import { stat } from 'node:fs/promises';
import { readFolder } from '../../lib/fs.ts';
import { join } from 'node:path';
import { isOrphaned, MAX_FOREIGN_CHECK_MS } from '../../lib/process-identity.ts';
import { CHECK_NAMES } from '../attempt/attempt-identity.ts';

/** Folders that belong to one process: probes, and runs and mirrors that are being created. */
const OF_A_PROCESS = /(?:^probe|\.new)-([0-9a-f]{6}-\d+-\d*)-\w+$/;

const CHECK = CHECK_NAMES.join('|');
/** Scratch folders of checks: name, epoch, and the process. */
const SCRATCH_OF_CHECK = new RegExp(`^(${CHECK})-.+-(e\\d+)(?:-([0-9a-f]{6}-\\d+-\\d*)-\\w+)?$`);
/** Socket folders of checks. Their paths are too short for a process: the scratch folder with the same epoch names it. */
const SOCKETS_OF_CHECK = new RegExp(`^(${CHECK})-(e\\d+)-`);

/** Folders below a HALO_HOME whose process died before it removed or renamed them. */
export async function listOrphanFolders(home: string): Promise<string[]> {
  const sockets = join(home, 'sockets');
  // Listed first: a check makes its scratch folder before them, and removes it after them.
  const ofChecks = await readFolder(sockets);
  const mirrors = (await readFolder(join(home, 'repos'))).map((name) => join(home, 'repos', name));
  const [views, attempts] = ['views', 'attempts'].map((folder) => mirrors.map((mirror) => join(mirror, folder)));
  const dead: string[] = [];
  for (const dir of [home, sockets, join(home, 'runs'), ...mirrors, ...(views ?? [])]) {
    for (const name of await readFolder(dir)) {
      const [, mark] = OF_A_PROCESS.exec(name) ?? [];
      const path = join(dir, name);
      if (mark !== undefined && isOrphaned(mark, await madeMs(path))) dead.push(path);
    }
  }
  const living = new Set<string>();
  for (const dir of attempts ?? []) {
    for (const name of await readFolder(dir)) {
      const [, check, epoch, mark = ''] = SCRATCH_OF_CHECK.exec(name) ?? [];
      if (check === undefined) continue;
      const path = join(dir, name);
      if (isOrphaned(mark, await madeMs(path), MAX_FOREIGN_CHECK_MS)) dead.push(path);
      else living.add(`${check}-${epoch}`);
    }
  }
  const left = ofChecks.filter((name) => {
    const [, check, epoch] = SOCKETS_OF_CHECK.exec(name) ?? [];
    return check !== undefined && !living.has(`${check}-${epoch}`);
  });
  return [...dead, ...left.map((name) => join(sockets, name))];
}

/** NaN if it was removed in the meantime. */
async function madeMs(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.mtimeMs ?? NaN;
}
