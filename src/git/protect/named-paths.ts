import { realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, posix, relative } from 'node:path';
import { git } from '../process/git.ts';
import { listSettings, type GitSetting } from '../process/git-settings.ts';
import { splitZero } from '../split-zero.ts';
import { listWorktrees } from '../repository/worktrees.ts';

/** A file or folder of a repository that its own settings of git, or the operator's, name. */
export interface NamedPath {
  /** From the top of the tree. */
  path: string;
  /** The setting, e.g. `core.hookspath`. */
  setting: string;
}

export interface NamedPathsRequest {
  /** A checkout, or the bare repository. */
  root: string;
  gitDir: string;
  /** The commit whose tree tells which words are files. */
  commit: string;
  /** Settings of halo's own that name a file, or a command. */
  own?: readonly OwnSetting[];
}

export interface OwnSetting {
  setting: string;
  /** A path, absolute or from the checkout, or a command. */
  value: string;
  kind: 'path' | 'command';
}

const MOST_PATHS = 200;
const MOST_WORDS = 5000;
const MOST_WORKTREES = 20;
/** Their words are names of people, branches and colours. */
const HARMLESS = /^(?:user|branch|color|i18n|column)\.|^remote\..*\.(?:fetch|push)$/s;
/** The value is a path, whether or not there is something yet. */
const PATHS = /^(?:core\.(?:hookspath|attributesfile|excludesfile)|init\.templatedir|gpg\.ssh\.\w+file|mailmap\.file)$/;
const INCLUDES = /^include(?:if\..*)?\.path$/s;

/**
 * What settings of git, and those of halo that are given, name inside of the tree: hooks, included files, and files that commands of any kind start (aliases,
 * filters, drivers, editors, helpers). Whoever writes these files decides what git runs in the checkout. What those
 * commands start in turn is not seen. Throws GIT_FAILED.
 */
export async function findNamedPaths({ root, gitDir, commit, own = [] }: NamedPathsRequest): Promise<NamedPath[]> {
  const others = (await listWorktrees(gitDir)).map(({ path }) => path).slice(0, MOST_WORKTREES);
  const tops = [...new Set([root, ...others])].filter((path) => path !== gitDir);
  const candidates = new Map<string, Candidate>();
  for (const { setting, value, kind } of own) {
    const found = kind === 'path' ? [{ place: absolute(value, root), setting, kind }] : wordsIn(value, setting, root);
    for (const each of found) candidates.set(`${each.kind} ${each.place}`, each);
  }
  for (const top of tops) {
    // Another checkout may be gone, or belong to somebody else.
    const listed = listSettings({ cwd: top }).catch((error: unknown) => {
      if (top === root) throw error;
      return [];
    });
    for (const setting of (await listed).filter(({ scope }) => scope !== 'command'))
      for (const each of candidatesIn(setting, top)) candidates.set(`${each.kind} ${each.place}`, each);
  }
  // Paths first: nothing may keep them from being seen.
  const ordered = [...candidates.values()].sort((one, other) => RANKS.indexOf(one.kind) - RANKS.indexOf(other.kind));
  const places = await Promise.all(ordered.slice(0, MOST_WORDS).map((each) => inTree(each, tops)));
  const inside = places.flatMap((place) => place ?? []);
  const types = await typesOf(gitDir, commit, inside);
  const named = new Map<string, NamedPath>();
  for (const { path, setting, kind } of inside) {
    const type = types.get(path);
    // A folder that a command mentions is rarely what it starts; a word that leads nowhere is rarely a path.
    const isFuture = kind === 'word' && type === undefined && path.includes('/') && types.has(firstOf(path));
    const counts = kind === 'path' || type === 'blob' || isFuture;
    if (counts && !named.has(path)) named.set(path, { path, setting });
  }
  return [...named.values()].slice(0, MOST_PATHS);
}

/** `command`: a whole one; `word`: a part of it. Either may be no path at all. */
const RANKS = ['path', 'command', 'word'] as const;

interface Candidate {
  /** Absolute. */
  place: string;
  setting: string;
  kind: (typeof RANKS)[number];
}

function candidatesIn({ key, value, origin }: GitSetting, top: string): Candidate[] {
  const file = origin.startsWith('file:') ? join(isAbsolute(origin.slice(5)) ? '' : top, origin.slice(5)) : undefined;
  const own: Candidate[] = file === undefined ? [] : [{ place: file, setting: 'include.path', kind: 'path' }];
  if (INCLUDES.test(key)) {
    const from = file === undefined ? top : dirname(file);
    return [...own, { place: absolute(value, from), setting: 'include.path', kind: 'path' }];
  }
  if (PATHS.test(key)) return [...own, { place: absolute(value, top), setting: key, kind: 'path' }];
  if (HARMLESS.test(key)) return own;
  return [...own, ...wordsIn(value, key, top)];
}

/** A command, and each word of it that could be a path. */
function wordsIn(command: string, setting: string, top: string): Candidate[] {
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

/** Where a place is in the tree; undefined: outside, or in a `.git`. */
async function inTree(
  { place, ...facts }: Candidate,
  tops: readonly string[],
): Promise<(Omit<Candidate, 'place'> & { path: string }) | undefined> {
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

/** `blob`, `tree` or `commit` of each path that the commit has, and of its first folder. */
async function typesOf(
  gitDir: string,
  commit: string,
  named: readonly { path: string }[],
): Promise<Map<string, string>> {
  const paths = [...new Set(named.flatMap(({ path }) => [path, firstOf(path)]))];
  if (paths.length === 0) return new Map();
  const { stdout } = await git(['ls-tree', '-t', '-z', '--full-tree', commit, '--', ...paths], { gitDir });
  return new Map(
    splitZero(stdout).map((line) => {
      const tab = line.indexOf('\t');
      return [line.slice(tab + 1), line.slice(0, tab).split(' ')[1] ?? ''] as const;
    }),
  );
}

function firstOf(path: string): string {
  return path.split('/')[0] ?? '';
}
