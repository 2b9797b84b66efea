import { realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, posix, relative } from 'node:path';
import { pathExists } from '../../lib/fs.ts';
import { git } from '../process/git.ts';
import { listSettings, type GitSetting } from '../process/git-settings.ts';
import { splitNul } from '../process/git-output.ts';
import { listWorktrees } from '../repository/worktrees.ts';

/** A file or folder of a repository that git settings of the repository or the operator refer to. */
interface NamedPath {
  /** Relative to the root of the tree. */
  path: string;
  /** The setting, e.g. `core.hookspath`. */
  setting: string;
}

interface NamedPathsRequest {
  /** A checkout, or the bare repository. */
  root: string;
  gitDir: string;
  /** The commit whose tree determines which words are files. */
  commit: string;
  /** Settings of halo that name a file or a command. */
  own?: readonly OwnSetting[];
  /** The settings of a checkout at `root`, if they have been read already. */
  settings?: readonly GitSetting[] | undefined;
}

export interface OwnSetting {
  setting: string;
  /** A path, absolute or relative to the checkout, or a command. */
  value: string;
  kind: 'path' | 'command';
}

const MAX_PATHS = 200;
const MAX_WORDS = 5000;
const MAX_WORKTREES = 20;
/** Settings whose words are names of people, branches and colours. */
const HARMLESS = /^(?:user|branch|color|i18n|column)\.|^remote\..*\.(?:fetch|push)$/s;
/** Settings whose value is a path, even if the file does not exist yet. */
const PATHS = /^(?:core\.(?:hookspath|attributesfile|excludesfile)|init\.templatedir|gpg\.ssh\.\w+file|mailmap\.file)$/;
const INCLUDES = /^include(?:if\..*)?\.path$/s;

/**
 * Finds files in the tree that settings of git and the given settings of halo refer to: hooks, included files, and files
 * that commands start (aliases, filters, drivers, editors, helpers). Their content decides what git runs in the checkout.
 * Programs that those commands start in turn are not found. Throws GIT_FAILED.
 */
export async function findNamedPaths({
  root,
  gitDir,
  commit,
  own = [],
  settings: known,
}: NamedPathsRequest): Promise<NamedPath[]> {
  const ofRoot = root === gitDir ? [] : (known ?? listSettings({ cwd: root }));
  // Without this folder, a checkout is the only one.
  const isOnly = root !== gitDir && !(await pathExists(join(gitDir, 'worktrees')));
  const [worktrees, rootSettings] = await Promise.all([isOnly ? [] : listWorktrees(gitDir), ofRoot]);
  const paths = worktrees.map(({ path }) => path).slice(0, MAX_WORKTREES);
  const others = [...new Set(paths)].filter((path) => path !== gitDir && path !== root);
  const tops = root === gitDir ? others : [root, ...others];
  // Another checkout may be gone or belong to another user.
  const ofOthers = await Promise.all(others.map((top) => listSettings({ cwd: top }).catch(() => [])));
  const settings = root === gitDir ? ofOthers : [rootSettings, ...ofOthers];
  const candidates = new Map<string, PathCandidate>();
  for (const { setting, value, kind } of own) {
    const found = kind === 'path' ? [{ place: absolute(value, root), setting, kind }] : wordsIn(value, setting, root);
    for (const each of found) candidates.set(`${each.kind} ${each.place}`, each);
  }
  for (const [nth, top] of tops.entries())
    for (const setting of settings[nth]?.filter(({ scope }) => scope !== 'command') ?? [])
      for (const each of candidatesIn(setting, top)) candidates.set(`${each.kind} ${each.place}`, each);
  // Paths first, so that the limit never excludes them.
  const ordered = [...candidates.values()].sort((one, other) => RANKS.indexOf(one.kind) - RANKS.indexOf(other.kind));
  const places = await Promise.all(ordered.slice(0, MAX_WORDS).map((each) => inTree(each, tops)));
  const inside = places.flatMap((place) => place ?? []);
  const types = await typesOf(gitDir, commit, inside);
  const named = new Map<string, NamedPath>();
  for (const { path, setting, kind } of inside) {
    const type = types.get(path);
    // A command rarely starts a folder that it mentions, and a word without a matching file is rarely a path.
    const isFuture = kind === 'word' && type === undefined && path.includes('/') && types.has(firstOf(path));
    const counts = kind === 'path' || type === 'blob' || isFuture;
    if (counts && !named.has(path)) named.set(path, { path, setting });
  }
  return [...named.values()].slice(0, MAX_PATHS);
}

/** `command`: a whole command; `word`: a part of it. Either may not be a path. */
const RANKS = ['path', 'command', 'word'] as const;

interface PathCandidate {
  /** Absolute. */
  place: string;
  setting: string;
  kind: (typeof RANKS)[number];
}

function candidatesIn({ key, value, origin }: GitSetting, top: string): PathCandidate[] {
  const file = origin.startsWith('file:') ? join(isAbsolute(origin.slice(5)) ? '' : top, origin.slice(5)) : undefined;
  const own: PathCandidate[] = file === undefined ? [] : [{ place: file, setting: 'include.path', kind: 'path' }];
  if (INCLUDES.test(key)) {
    const from = file === undefined ? top : dirname(file);
    return [...own, { place: absolute(value, from), setting: 'include.path', kind: 'path' }];
  }
  if (PATHS.test(key)) return [...own, { place: absolute(value, top), setting: key, kind: 'path' }];
  if (HARMLESS.test(key)) return own;
  return [...own, ...wordsIn(value, key, top)];
}

/** Returns a command and each of its words that could be a path. */
function wordsIn(command: string, setting: string, top: string): PathCandidate[] {
  const words = command.split(/[\s'"`;|&()<>{}$=,!]+/).filter((word) => /^[^-]/.test(word));
  const found = [
    { text: command, kind: 'command' as const },
    ...words.map((text) => ({ text, kind: 'word' as const })),
  ];
  return found.map(({ text, kind }) => ({ place: absolute(text, top), setting, kind }));
}

function absolute(path: string, from: string): string {
  if (path.startsWith('~/')) return join(homedir(), path.slice(2));
  return isAbsolute(path) ? path : join(from, path);
}

/** Returns the path of a candidate in the tree; undefined if it is outside or in a `.git`. */
async function inTree(
  { place, ...facts }: PathCandidate,
  tops: readonly string[],
): Promise<(Omit<PathCandidate, 'place'> & { path: string }) | undefined> {
  const real = await realpath(dirname(place)).then(
    (folder) => join(folder, basename(place)),
    () => place,
  );
  for (const each of [place, real]) {
    for (const top of tops) {
      const path = posix.normalize(relative(top, each));
      const first = firstOf(path);
      if (path !== '.' && first !== '..' && first !== '.git' && !isAbsolute(path)) return { ...facts, path };
    }
  }
  return undefined;
}

/** Returns the object type of each path in the commit, and of its first folder. */
async function typesOf(
  gitDir: string,
  commit: string,
  named: readonly { path: string }[],
): Promise<Map<string, string>> {
  const paths = [...new Set(named.flatMap(({ path }) => [path, firstOf(path)]))];
  if (paths.length === 0) return new Map();
  const { stdout } = await git(['ls-tree', '-t', '-z', '--full-tree', commit, '--', ...paths], { gitDir });
  return new Map(
    splitNul(stdout).map((line) => {
      const tab = line.indexOf('\t');
      return [line.slice(tab + 1), line.slice(0, tab).split(' ')[1] ?? ''] as const;
    }),
  );
}

function firstOf(path: string): string {
  return path.split('/')[0] ?? '';
}
