import { opendir, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { pathExists, readRegularText, UnreadableFileError } from '../../lib/fs.ts';

/** Where the data of a repository are. All paths are absolute, with links resolved. */
interface Places {
  /** The common git directory. */
  gitDir: string;
  /** The repositories to which the files belong that git reads and writes: usually only the one that was named. */
  repositories: string[];
}

/** A file with one path in it, such as `.git`. */
const MAX_POINTER_BYTES = 8 * 1024;
const MAX_ALTERNATES_BYTES = 64 * 1024;
/** As in git. */
const MAX_ALTERNATES_DEPTH = 5;
/** git directories of others, which halo does not use. */
const NOT_USED = ['modules', 'lfs'];

/**
 * Finds all repositories that git would use for the one that contains `folder`: behind a `.git` file or link, `commondir`,
 * links in the git directory, and alternates. Starts no git, because it would read them. Undefined: there is no repository.
 * Throws NOT_A_GIT_REPO for files that are neither regular nor links.
 */
export async function findPlaces(folder: string): Promise<Places | undefined> {
  const root = await findTop(await realpath(folder).catch(() => resolve(folder)));
  if (root === undefined) return undefined;
  const own = await realOr((await pathExists(join(root, '.git'))) ? await followGitFile(root) : root);
  const gitDir = await realOr(await followPointer(own, join(own, 'commondir')));
  const found = new Set<string>([own, gitDir]);
  for (const dir of new Set([own, gitDir])) await addLinks(dir, found);
  await addAlternates(join(gitDir, 'objects'), found);
  return { gitDir, repositories: [...new Set(await Promise.all([...found].map(repositoryOf)))].sort() };
}

/**
 * Throws NOT_A_GIT_REPO if a repository has files in others than those that it had when it was submitted: `places`; absent:
 * it may. Returns its common git directory.
 */
export async function requireSamePlaces(
  source: string,
  places: readonly string[] | undefined,
): Promise<string | undefined> {
  if (places === undefined) return undefined;
  const found = await findPlaces(source);
  if (found?.repositories.every((each) => places.includes(each)) === true) return found.gitDir;
  throw new HaloError(
    'NOT_A_GIT_REPO',
    `${source} is not the repository that was submitted: it has files of another one.`,
    {
      hint: 'Submit the PRD again.',
    },
  );
}

/** The nearest folder upwards that has a `.git` or is a bare repository. */
async function findTop(folder: string): Promise<string | undefined> {
  if ((await pathExists(join(folder, '.git'))) || (await isBare(folder))) return folder;
  return folder === dirname(folder) ? undefined : findTop(dirname(folder));
}

async function followGitFile(root: string): Promise<string> {
  const path = join(root, '.git');
  if ((await stat(path).catch(() => undefined))?.isDirectory() === true) return path;
  return followPointer(root, path, /^gitdir: ?/);
}

/** The path in a file, relative to `base`; `base` if there is no such file. */
async function followPointer(base: string, path: string, prefix = /^/): Promise<string> {
  const text = await readPlain(path, MAX_POINTER_BYTES);
  return text === undefined ? base : resolve(base, text.replace(prefix, '').replace(/[\r\n]+$/, ''));
}

/** Adds the targets of all links below a folder. */
async function addLinks(dir: string, found: Set<string>): Promise<void> {
  for await (const entry of await opendir(dir).catch(() => [])) {
    const path = join(dir, entry.name);
    if (entry.isSymbolicLink()) found.add(await realOr(resolve(dir, await readlink(path).catch(() => ''))));
    else if (entry.isDirectory()) {
      if (!NOT_USED.includes(entry.name)) await addLinks(path, found);
    } else if (!entry.isFile()) throw notPlain(path);
  }
}

async function addAlternates(objects: string, found: Set<string>, depth = 0): Promise<void> {
  const dir = await realOr(objects);
  const text = (await readPlain(join(dir, 'info', 'alternates'), MAX_ALTERNATES_BYTES)) ?? '';
  for (const line of text.split('\n').filter((each) => each !== '' && !each.startsWith('#'))) {
    const alternate = await realOr(resolve(dir, unquote(line)));
    if (found.has(alternate)) continue;
    found.add(alternate);
    await addLinks(alternate, found);
    if (depth < MAX_ALTERNATES_DEPTH) await addAlternates(alternate, found, depth + 1);
  }
}

/** git reads a line in quotes as a C string. */
function unquote(line: string): string {
  if (!/^".*"$/.test(line)) return line;
  const bytes = Buffer.from(line.slice(1, -1))
    .toString('latin1')
    .replace(/\\([0-7]{3}|.)/g, (_, code: string) => {
      if (code.length === 3) return String.fromCharCode(Number.parseInt(code, 8));
      return { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v' }[code] ?? code;
    });
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** The checkout or bare repository that a path belongs to; the path itself if there is none. */
async function repositoryOf(place: string): Promise<string> {
  const inside = place.split('/').indexOf('.git');
  if (inside > 0) return place.split('/').slice(0, inside).join('/') || '/';
  for (let dir = place; dir !== dirname(dir); dir = dirname(dir)) if (await isBare(dir)) return dir;
  return basename(place) === 'objects' ? dirname(place) : place;
}

/** Undefined: there is no such file. Throws NOT_A_GIT_REPO. */
async function readPlain(path: string, maxBytes: number): Promise<string | undefined> {
  try {
    return await readRegularText(path, maxBytes);
  } catch (error) {
    if (error instanceof UnreadableFileError) throw notPlain(path);
    return undefined;
  }
}

function realOr(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

function notPlain(path: string): HaloError {
  return new HaloError('NOT_A_GIT_REPO', `${path} is neither a file nor a folder that git can use.`, {
    hint: 'Remove it from the repository.',
  });
}

/**
 * Returns the arguments that allow git to use a bare repository at `folder`; empty for a checkout. Throws NOT_A_GIT_REPO
 * for a bare repository inside a checkout: it may be part of the checked-out files, and git would run the programs that
 * its settings name.
 */
export async function allowBareRepository(folder: string): Promise<string[]> {
  const bare = await findBare(await realpath(folder));
  if (bare === undefined) return [];
  // A repository inside a .git folder is not part of the checked-out files.
  const outer = bare.split('/').includes('.git') ? undefined : await findCheckout(dirname(bare));
  if (outer === undefined) return ['-c', 'safe.bareRepository=all'];
  throw new HaloError('NOT_A_GIT_REPO', `${bare} looks like a bare repository, but is inside the checkout ${outer}.`, {
    hint: `Use ${outer}, or a folder in it that is not a repository. If you trust ${bare}, use file://${bare}.`,
  });
}

/** Finds the nearest folder upwards that git treats as a bare repository; undefined if a checkout is nearer. */
async function findBare(folder: string): Promise<string | undefined> {
  if (await pathExists(join(folder, '.git'))) return undefined;
  if (await isBare(folder)) return folder;
  return folder === dirname(folder) ? undefined : findBare(dirname(folder));
}

/** Whether git treats a folder as a git directory. */
async function isBare(folder: string): Promise<boolean> {
  const [head, common, ...parts] = await Promise.all(
    ['HEAD', 'commondir', 'objects', 'refs'].map((name) => pathExists(join(folder, name))),
  );
  return head === true && (common === true || !parts.includes(false));
}

/** Finds the nearest folder upwards that has a `.git`. */
export async function findCheckout(folder: string): Promise<string | undefined> {
  if (await pathExists(join(folder, '.git'))) return folder;
  return folder === dirname(folder) ? undefined : findCheckout(dirname(folder));
}
