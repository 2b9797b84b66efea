import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Git stops its own work in a repository of halo's after an hour at most. */
const WORK_MS = 3_660_000;
/** How long git holds the lock of a ref or of a small file: moments. */
const LOCK_MS = 120_000;

/** Packs, indexes and objects that git is still writing. */
const UNFINISHED = /^\.?tmp[-_]/;

/**
 * Removes what git left unfinished in a repository that belongs to halo alone, because it was killed or its source went
 * away: packs and objects under temporary names, and lock files, which would keep others from writing. A process that
 * lives cannot hold them any more, by their age. Answers with the paths. Safe while git works there, and where there is
 * no such repository.
 */
export async function sweepTemporary(gitDir: string): Promise<string[]> {
  const objects = join(gitDir, 'objects');
  const folders = [objects, ...(await namesOf(objects)).filter((name) => name !== 'info').map((n) => join(objects, n))];
  const unfinished = (await Promise.all(folders.map((dir) => filesIn(dir)))).flat();
  const locks = [...(await filesIn(gitDir)), ...(await filesIn(join(gitDir, 'refs'), true))];
  const left = [
    ...unfinished.filter(({ name }) => UNFINISHED.test(name)).map((file) => ({ ...file, mostMs: WORK_MS })),
    ...locks.filter(({ name }) => name.endsWith('.lock')).map((file) => ({ ...file, mostMs: mostOf(file.name) })),
  ];
  const removed: string[] = [];
  for (const { path, mostMs } of left) {
    const madeMs = (await lstat(path).catch(() => undefined))?.mtimeMs ?? Infinity;
    if (Date.now() - madeMs <= mostMs) continue;
    await rm(path, { force: true, recursive: true });
    removed.push(path);
  }
  return removed;
}

/** A fetch from a shallow repository holds this one from its beginning to its end. */
function mostOf(name: string): number {
  return name === 'shallow.lock' ? WORK_MS : LOCK_MS;
}

async function filesIn(dir: string, below = false): Promise<{ name: string; path: string }[]> {
  const entries = await readdir(dir, { withFileTypes: true, recursive: below }).catch(absent);
  return entries.map(({ name, parentPath }) => ({ name, path: join(parentPath, name) }));
}

async function namesOf(dir: string): Promise<string[]> {
  return (await filesIn(dir)).map(({ name }) => name);
}

function absent(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
  throw error;
}
