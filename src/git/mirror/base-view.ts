import { copyFile, link, mkdtemp, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createFolders, readFolder, syncPath } from '../../lib/fs.ts';
import { processMark } from '../../lib/process-identity.ts';
import { initBareRepo } from '../repository/init-repo.ts';
import { git, gitText } from '../process/git.ts';
import { findAncestor, readBoundary } from './history.ts';
import { readMirrorFormat } from './mirror.ts';
import { assertObjectId } from '../process/git-output.ts';
import { retry } from '../../lib/async.ts';

/** Each passed story adds a pack to the view of the next one; git searches all packs of a repository. */
const MAX_PACKS = 20;
/** Views kept per repository; the least recently used are removed first. Attempts have their own links. */
const MAX_VIEWS = 32;
const VIEW = /^([0-9a-f]{40}|[0-9a-f]{64})(-[0-9a-f]{32})?$/;
/** Packing the whole history of a large repository may be necessary. */
const PACK_MS = 3_600_000;

/**
 * Creates an empty bare repository `dir` with the object format and shallow boundary of a mirror. Sandboxes mount it
 * instead of the mirror, which also contains other branches and the commits of other runs.
 */
export async function createView(dir: string, mirrorDir: string): Promise<void> {
  await initBareRepo(dir, await readMirrorFormat(mirrorDir));
}

/**
 * Adds exactly the objects reachable from `commit` to the view `dir`, as hard links to packs. Sandboxes that have mounted
 * the view see them. Throws GIT_FAILED when the mirror does not have the commit.
 */
export async function addToView(
  dir: string,
  { mirrorDir, commit }: { mirrorDir: string; commit: string },
): Promise<void> {
  assertObjectId(commit, 'The commit of a view');
  const link = async () => linkPacks(await ensurePacks(mirrorDir, commit), join(dir, 'objects', 'pack'));
  // Another process may have removed it as the least recently used.
  const isRetryable = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT';
  await retry(link, { delaysMs: [0, 0], isRetryable });
}

/** Removes all views of a mirror. They are derived data and are rebuilt on demand, for example after damage. */
export async function removeViews(mirrorDir: string): Promise<void> {
  await rm(viewsOf(mirrorDir), { recursive: true, force: true });
}

/** `<repos>/<mirror>/views/<commit>[-<shallow boundary>]`: a folder of packs with the objects reachable from the commit. */
function viewsOf(mirrorDir: string): string {
  return join(dirname(mirrorDir), 'views');
}

async function ensurePacks(mirrorDir: string, commit: string): Promise<string> {
  const views = viewsOf(mirrorDir);
  const boundary = await readBoundary(mirrorDir);
  const dir = join(views, `${commit}${boundary}`);
  const now = new Date();
  if (await utimes(dir, now, now).then(() => true, falseIfMissing)) return dir;
  await createFolders(views);
  const names = await listViews(views);
  await publishView(dir, async (aside) => {
    const known = names.map((name) => VIEW.exec(name) ?? []).filter(([, , end = '']) => end === boundary);
    const ancestor = await findAncestor(mirrorDir, commit, new Set(known.map(([, id]) => id)));
    const from = ancestor === undefined ? undefined : join(views, `${ancestor}${boundary}`);
    if (from !== undefined && (await isExtendable(from))) {
      await linkPacks(from, aside);
      await pack(mirrorDir, aside, [commit, `^${ancestor}`]);
    } else if (names.length > 0 || !(await linkWhole(mirrorDir, aside, commit))) {
      await pack(mirrorDir, aside, [commit]);
    }
  });
  await removeOldest(views, names);
  return dir;
}

/**
 * Creates the view of a commit from that of its parent and the pack `pack-<name>` of the mirror, which contains exactly
 * what the commit adds to its parent. Does nothing if there is no view of the parent, or it has too many packs:
 * `addToView` then creates the view. Throws if the mirror has no such pack.
 */
export async function extendView(
  mirrorDir: string,
  { commit, parent, pack: name }: { commit: string; parent: string; pack: string },
): Promise<void> {
  const views = viewsOf(mirrorDir);
  const boundary = await readBoundary(mirrorDir);
  const from = join(views, `${parent}${boundary}`);
  const names = await listViews(views);
  if (!names.includes(`${parent}${boundary}`) || !(await isExtendable(from))) return;
  await publishView(join(views, `${commit}${boundary}`), async (aside) => {
    await linkPacks(from, aside);
    const added = [`pack-${name}.pack`, `pack-${name}.idx`];
    for (const file of added) await linkFile(join(mirrorDir, 'objects', 'pack', file), join(aside, file));
  });
  await removeOldest(views, names);
}

async function listViews(views: string): Promise<string[]> {
  return (await readFolder(views)).filter((name) => VIEW.test(name));
}

async function isExtendable(view: string): Promise<boolean> {
  return (await readdir(view)).length / 2 < MAX_PACKS;
}

/** Fills a new folder and renames it to `dir`, so that a view is complete or missing. */
async function publishView(dir: string, fill: (aside: string) => Promise<void>): Promise<void> {
  const aside = await mkdtemp(`${dir}.new-${processMark()}-`);
  try {
    await fill(aside);
    await syncPath(aside);
    await rename(aside, dir).catch((error: NodeJS.ErrnoException) => {
      // Another process created the same view first.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

/** Links all packs of a mirror if they contain exactly the objects reachable from the commit, as in a new mirror. Returns whether it did. */
async function linkWhole(mirrorDir: string, to: string, commit: string): Promise<boolean> {
  await linkPacks(join(mirrorDir, 'objects', 'pack'), to);
  const names = await readdir(to);
  const indexes = names.filter((name) => name.endsWith('.idx'));
  const counts = await Promise.all(indexes.map((name) => countObjects(join(to, name))));
  const reached = await gitText(['rev-list', '--objects', '--count', commit], {
    gitDir: mirrorDir,
    timeoutMs: PACK_MS,
  });
  if (counts.reduce((sum, count) => sum + count, 0) === Number(reached)) return true;
  for (const name of names) await rm(join(to, name));
  return false;
}

/** Reads the fan-out table of a pack index of version 2: https://git-scm.com/docs/gitformat-pack */
async function countObjects(index: string): Promise<number> {
  const file = await open(index, 'r');
  try {
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 8 + 255 * 4);
    return buffer.readUInt32BE(0);
  } finally {
    await file.close();
  }
}

async function pack(mirrorDir: string, dir: string, wanted: readonly string[]): Promise<void> {
  const args = ['pack-objects', '--revs', '--quiet', '--delta-base-offset', '--non-empty', join(dir, 'pack')];
  await git(args, { gitDir: mirrorDir, input: `${wanted.join('\n')}\n`, timeoutMs: PACK_MS, durable: true });
}

/** Links indexes last: git considers a pack complete once it has an index. */
export async function linkPacks(from: string, to: string): Promise<void> {
  const names = (await readdir(from)).filter((name) => /^pack-[0-9a-f]{40,64}\.(?:pack|idx)$/.test(name));
  for (const name of names.sort().reverse()) await linkFile(join(from, name), join(to, name));
}

/** Copies the file if it cannot be linked. A file of this name stays: packs are named after their contents. */
async function linkFile(from: string, to: string): Promise<void> {
  await link(from, to).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw error;
    if (error.code !== 'EEXIST') await copyFile(from, to);
  });
}

async function removeOldest(views: string, names: readonly string[]): Promise<void> {
  if (names.length < MAX_VIEWS) return;
  const ages = await Promise.all(
    names.map(async (name) => ({ name, usedMs: (await stat(join(views, name)).catch(() => undefined))?.mtimeMs ?? 0 })),
  );
  const oldest = ages.sort((a, b) => a.usedMs - b.usedMs).slice(0, names.length + 1 - MAX_VIEWS);
  for (const { name } of oldest) await rm(join(views, name), { recursive: true, force: true });
}

function falseIfMissing(error: NodeJS.ErrnoException): false {
  if (error.code !== 'ENOENT') throw error;
  return false;
}
