import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isLeftBehind, markProcess } from '../../lib/process-identity.ts';

/** Marks a pack that git must neither repack nor remove, because no ref names what is in it yet. */
export function keepNote(): string {
  return `halo lands a commit, ${markProcess()}`;
}

const NOTE = /^halo lands a commit, (\S+)\n$/;

/** The mark of this process on the pack that `index-pack` printed the name of; an earlier try may have left it. */
export async function findKept(gitDir: string, printed: string): Promise<string | undefined> {
  const [, name = ''] = /^(?:keep|pack)\t([0-9a-f]{40,64})$/m.exec(printed) ?? [];
  const path = join(packsOf(gitDir), `pack-${name}.keep`);
  return (await readFile(path, 'utf8').catch(() => '')) === `${keepNote()}\n` ? path : undefined;
}

/** Lets go of packs that processes of halo kept which died before they could do so. */
export async function sweepKept(gitDir: string): Promise<void> {
  // A repository without packs need not have the folder.
  const names = await readdir(packsOf(gitDir)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  for (const path of names.filter((name) => name.endsWith('.keep')).map((name) => join(packsOf(gitDir), name))) {
    const mark = NOTE.exec(await readFile(path, 'utf8').catch(() => ''))?.[1];
    const madeMs = (await stat(path).catch(() => undefined))?.mtimeMs ?? NaN;
    if (mark !== undefined && isLeftBehind(mark, madeMs)) await rm(path, { force: true });
  }
}

function packsOf(gitDir: string): string {
  return join(gitDir, 'objects', 'pack');
}
