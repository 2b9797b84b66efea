import { mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { asMissing, findOpenFilesError, HaloError } from '../../core/failure/errors.ts';
import { removeViews } from './base-view.ts';
import { bareConfig, initBareRepo } from '../repository/init-repo.ts';
import { git } from '../process/git.ts';
import {
  temporaryPrefix,
  fetchRefs,
  createTemporaryMirror,
  mirrorPath,
  readMirrorFormat,
  requireSource,
  placeMirror,
  withMirrorLock,
  type FetchSource,
  type MirrorRequest,
} from './mirror.ts';
import { statObjects } from '../objects/read-objects.ts';
import { isObjectId } from '../process/git-output.ts';
import { isUrl } from '../repository/repo-url.ts';

/** Checking every object takes minutes in a repository with millions of them. */
const CHECK_MS = 3_600_000;
/** Another process may be repairing the same mirror. */
const WAIT_MS = 2 * CHECK_MS;

/**
 * Rebuilds a damaged mirror: fetches everything that its refs point to from the source, or else from the remains of the
 * damaged one. A remote source is contacted only with checked access. Returns whether the mirror was damaged and was
 * rebuilt as far as possible. Sandboxes keep seeing the old mirror; it is deleted when this process ends, or kept as
 * `mirror.git.damaged` if something in it could not be recovered.
 */
export async function repairMirror(source: Pick<MirrorRequest, 'home' | 'name' | 'from' | 'access'>): Promise<boolean> {
  const dir = mirrorPath(source.home, source.name);
  await requireSource(dir, source.from);
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

/**
 * Whether all objects reachable from the refs of a mirror exist and are undamaged. Objects that only violate newer format
 * rules are fine. Throws DISK_FAILED if that cannot be found out.
 */
async function isWhole(dir: string): Promise<boolean> {
  try {
    await readMirrorFormat(dir);
    const packs = (await readdir(join(dir, 'objects', 'pack'))).filter((name) => name.endsWith('.pack'));
    const checks = [
      ['fsck', '--connectivity-only', '--no-dangling', '--no-progress'],
      ...packs.map((name) => ['verify-pack', join(dir, 'objects', 'pack', name)]),
    ];
    for (const check of checks) await git(check, { gitDir: dir, timeoutMs: CHECK_MS });
    return true;
  } catch (error) {
    // What cannot be read now says nothing about the mirror.
    const fault = findOpenFilesError(error) ?? error;
    if (fault instanceof HaloError && fault.code === 'DISK_FAILED') throw fault;
    return false;
  }
}

/** Rebuilds the mirror; returns false when the source may not be contacted and something is missing. */
async function remake(source: FetchSource, dir: string): Promise<boolean> {
  const missing = await readRefs(dir);
  const sha256 = (await readFile(join(dir, 'config'), 'utf8').catch(asMissing))?.includes('sha256') === true;
  const [first = ''] = missing.values();
  const config = bareConfig(first.length === 64 || sha256 ? 64 : 40);
  const aside = await createTemporaryMirror(dir, config);
  for (const ref of await bring(source, aside, missing)) missing.delete(ref);
  // Git reads the remains only if they look like a repository and their commits have their parents.
  await initBareRepo(dir, { config, alternate: join(aside, 'objects') });
  for (const ref of await bring({ from: dir }, aside, missing)) missing.delete(ref);
  await rm(join(dir, 'objects', 'info', 'alternates'), { force: true });
  // Leave the repair to a caller that may contact the source.
  if (missing.size > 0 && !mayAsk(source)) {
    await rm(aside, { recursive: true, force: true });
    return false;
  }
  const rest = missing.size === 0 ? await mkdtemp(temporaryPrefix(dir)) : `${dir}.damaged`;
  await rm(rest, { recursive: true, force: true });
  await rename(dir, rest);
  await placeMirror(aside, dir);
  return true;
}

function mayAsk({ from, access }: FetchSource): boolean {
  return !isUrl(from) || access !== undefined;
}

/** Fetches as many of these refs as the source has. Returns the refs that were fetched. */
async function bring(source: FetchSource, dir: string, refs: ReadonlyMap<string, string>): Promise<string[]> {
  const there = await presentAt(source, refs);
  const wanted = [...refs].filter(([, id]) => there.has(id)).map(([ref, id]) => `+${id}:${ref}`);
  const brought: string[] = [];
  for (const some of inParts(wanted)) {
    const tries = (await fetched(source, dir, some)) ? [] : some;
    // One failing ref must not block the others.
    const had = tries.length === 0 ? some : [];
    for (const one of tries) if (await fetched(source, dir, [one])) had.push(one);
    brought.push(...had.map((refspec) => refspec.slice(refspec.indexOf(':') + 1)));
  }
  return brought;
}

/** Ids that the source may have. A remote source is asked only for commits that once came from it. */
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

/** Splits a list into parts that fit on a command line. */
function* inParts<T>(list: readonly T[], size = 200): Generator<T[]> {
  for (let at = 0; at < list.length; at += size) yield list.slice(at, at + size);
}

/** Reads the refs of a mirror that are readable, by name; halo's mirrors keep each ref in its own file. */
async function readRefs(dir: string): Promise<Map<string, string>> {
  const refs = new Map<string, string>();
  const entries = await readdir(join(dir, 'refs'), { recursive: true, withFileTypes: true }).catch(asMissing);
  for (const entry of (entries ?? []).filter((entry) => entry.isFile() && !entry.name.endsWith('.lock'))) {
    const path = join(entry.parentPath, entry.name);
    const id = (await readFile(path, 'latin1').catch(asMissing))?.trim() ?? '';
    if (isObjectId(id)) refs.set(relative(dir, path), id);
  }
  return refs;
}
