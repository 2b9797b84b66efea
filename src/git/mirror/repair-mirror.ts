import { mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { removeViews } from './base-view.ts';
import { bareConfig, makeBareRepo } from '../repository/init-repo.ts';
import { git } from '../process/git.ts';
import {
  asideOf,
  fetchRefs,
  makeAside,
  mirrorPath,
  mirrorShape,
  placeMirror,
  withMirrorLock,
  type FetchSource,
  type MirrorRequest,
} from './mirror.ts';
import { statObjects } from '../objects/read-objects.ts';
import { isObjectId } from '../process/object-id.ts';
import { isUrl } from '../repository/repo-url.ts';

/** Git looks at each object; that takes minutes in a repository of millions. */
const CHECK_MS = 3_600_000;
/** Another process may be at the same. */
const WAIT_MS = 2 * CHECK_MS;

/**
 * Makes a mirror again that is damaged: everything that its refs name comes from the source, or out of what is left of
 * it where the source does not have it. An address is asked only with the access that it was checked for. Answers
 * whether it was damaged, and is whole again as far as that can be. Sandboxes that see the old one go on seeing it; it goes with this process, and stays as
 * `mirror.git.damaged` where something in it could not be had from anywhere.
 */
export async function mendMirror(source: Pick<MirrorRequest, 'home' | 'name' | 'from' | 'access'>): Promise<boolean> {
  const dir = mirrorPath(source.home, source.name);
  // Git may have failed in one of them.
  await removeViews(dir);
  return withMirrorLock(
    dir,
    async () => {
      if (await isWhole(dir)) return false;
      return remake(source, dir);
    },
    { waitMs: WAIT_MS },
  );
}

/** Whether a mirror has all that its refs name, undamaged. Objects that git would not make today are none of its faults. */
async function isWhole(dir: string): Promise<boolean> {
  try {
    await mirrorShape(dir);
    const packs = (await readdir(join(dir, 'objects', 'pack'))).filter((name) => name.endsWith('.pack'));
    const checks = [
      ['fsck', '--connectivity-only', '--no-dangling', '--no-progress'],
      ...packs.map((name) => ['verify-pack', join(dir, 'objects', 'pack', name)]),
    ];
    for (const check of checks) await git(check, { gitDir: dir, timeoutMs: CHECK_MS });
    return true;
  } catch {
    return false;
  }
}

/** Answers whether that could be done. */
async function remake(source: FetchSource, dir: string): Promise<boolean> {
  const missing = await readRefs(dir);
  const sha256 = (await readFile(join(dir, 'config'), 'utf8').catch(() => '')).includes('sha256');
  const [first = ''] = missing.values();
  const config = bareConfig(first.length === 64 || sha256 ? 64 : 40);
  const aside = await makeAside(dir, config);
  for (const ref of await bring(source, aside, missing)) missing.delete(ref);
  // Git reads what is left of the old one only when it looks like a repository, and has what its commits build on.
  await makeBareRepo(dir, { config, alternate: join(aside, 'objects') });
  for (const ref of await bring({ from: dir }, aside, missing)) missing.delete(ref);
  await rm(join(dir, 'objects', 'info', 'alternates'), { force: true });
  // Whoever may ask the address makes it again.
  if (missing.size > 0 && !mayAsk(source)) {
    await rm(aside, { recursive: true, force: true });
    return false;
  }
  const rest = missing.size === 0 ? await mkdtemp(asideOf(dir)) : `${dir}.damaged`;
  await rm(rest, { recursive: true, force: true });
  await rename(dir, rest);
  await placeMirror(aside, dir);
  return true;
}

function mayAsk({ from, access }: FetchSource): boolean {
  return !isUrl(from) || access !== undefined;
}

/** Fetches what the source has of these refs, as much of it as can be had. Answers with the refs that are there now. */
async function bring(source: FetchSource, dir: string, refs: ReadonlyMap<string, string>): Promise<string[]> {
  const there = await presentAt(source, refs);
  const wanted = [...refs].filter(([, id]) => there.has(id)).map(([ref, id]) => `+${id}:${ref}`);
  const brought: string[] = [];
  for (const some of inParts(wanted)) {
    const tries = (await fetched(source, dir, some)) ? [] : some;
    // One that cannot be had must not keep the others.
    const had = tries.length === 0 ? some : [];
    for (const one of tries) if (await fetched(source, dir, [one])) had.push(one);
    brought.push(...had.map((refspec) => refspec.slice(refspec.indexOf(':') + 1)));
  }
  return brought;
}

/** Ids that the source may have. A server is asked for what once came from there alone. */
async function presentAt(source: FetchSource, refs: ReadonlyMap<string, string>): Promise<Set<string>> {
  const { from } = source;
  if (!mayAsk(source)) return new Set();
  if (isUrl(from)) return new Set([...refs].filter(([ref]) => ref.startsWith('refs/halo/base/')).map(([, id]) => id));
  const facts = await statObjects(from, [...new Set(refs.values())]).catch(() => new Map<string, unknown>());
  return new Set(facts.keys());
}

async function fetched(source: FetchSource, dir: string, refspecs: readonly string[]): Promise<boolean> {
  return fetchRefs(source, dir, refspecs).then(
    () => true,
    () => false,
  );
}

/** As many as a command line takes. */
function* inParts<T>(list: readonly T[], size = 200): Generator<T[]> {
  for (let at = 0; at < list.length; at += size) yield list.slice(at, at + size);
}

/** What the refs of a repository name, as far as they can be read; halo's mirrors have each in a file of its own. */
async function readRefs(dir: string): Promise<Map<string, string>> {
  const refs = new Map<string, string>();
  const entries = await readdir(join(dir, 'refs'), { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.lock'))) {
    const path = join(entry.parentPath, entry.name);
    const id = (await readFile(path, 'latin1').catch(() => '')).trim();
    if (isObjectId(id)) refs.set(relative(dir, path), id);
  }
  return refs;
}
