import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** halo limits every git process to one hour; files older than this are abandoned. */
const WORK_MS = 3_660_000;
/** Git holds locks of refs and small files for moments only. */
const LOCK_MS = 120_000;

/** Names of packs, indexes and objects that git has not finished writing. */
const UNFINISHED = /^\.?tmp[-_]/;

/**
 * Removes files that killed git processes left in one of halo's own repositories: packs and objects under temporary
 * names, and lock files, which would block other writers. Only files that are too old to belong to a running process are
 * removed. Returns their paths. Safe while git runs there, and if the repository does not exist.
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

/** A fetch from a shallow repository holds `shallow.lock` until it ends. */
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
