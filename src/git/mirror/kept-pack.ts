import { readFile, rm, stat } from 'node:fs/promises';
import { readFolder } from '../../lib/fs.ts';
import { join } from 'node:path';
import { isOrphaned, processMark } from '../../lib/process-identity.ts';

/** Content of a `.keep` file: git must not repack or remove the pack, because no ref points to its objects yet. */
export function keepMarker(): string {
  return `halo lands a commit, ${processMark()}`;
}

const NOTE = /^halo lands a commit, (\S+)\n$/;

/** Finds this process's `.keep` file of the pack that `index-pack` printed; an earlier try may have created it. */
export async function findKeepFile(gitDir: string, printed: string): Promise<string | undefined> {
  const [, name = ''] = /^(?:keep|pack)\t([0-9a-f]{40,64})$/m.exec(printed) ?? [];
  const path = join(packsOf(gitDir), `pack-${name}.keep`);
  return (await readFile(path, 'utf8').catch(() => '')) === `${keepMarker()}\n` ? path : undefined;
}

/** Removes `.keep` files of halo processes that have died. */
export async function sweepKeepFiles(gitDir: string): Promise<void> {
  // A repository without packs need not have the folder.
  const names = await readFolder(packsOf(gitDir));
  for (const path of names.filter((name) => name.endsWith('.keep')).map((name) => join(packsOf(gitDir), name))) {
    const mark = NOTE.exec(await readFile(path, 'utf8').catch(() => ''))?.[1];
    const madeMs = (await stat(path).catch(() => undefined))?.mtimeMs ?? NaN;
    if (mark !== undefined && isOrphaned(mark, madeMs)) await rm(path, { force: true });
  }
}

function packsOf(gitDir: string): string {
  return join(gitDir, 'objects', 'pack');
}
