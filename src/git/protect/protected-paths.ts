import { setImmediate } from 'node:timers/promises';
import { posix } from 'node:path';
import { compileGlobs, type GlobMatcher } from '../../lib/glob.ts';
import { foldName } from '../import/path-policy.ts';
import { PROTECTED_GROUPS } from './protected-list.ts';
import { policyViolation } from '../import/policy-violation.ts';
import type { FileChange } from '../import/import-tree.ts';
import { readObjects } from '../objects/read-objects.ts';
import { readTree } from '../objects/tree-entries.ts';
import { listFiles } from '../objects/tree-list.ts';

let ownRules: Rule[] | undefined;

/** Time limit of the matching, because the worker has other stories to process. */
const MAX_MATCHING_MS = 60_000;
/** How long the matching runs before other stories of the worker get a turn. */
const SLICE_MS = 20;

/**
 * Returns those of `paths` that require approval, in their order: matched by halo's own list and then by `globs` in turn,
 * of which one with a leading `!` excludes paths again. Ignores case and Unicode form, like many file systems. Throws
 * POLICY_VIOLATION when the matching takes more than a minute.
 */
export async function findProtected(paths: readonly string[], globs: readonly string[]): Promise<string[]> {
  // Compiled once: it is the same for all stories.
  ownRules ??= compileRules(Object.values(PROTECTED_GROUPS).flat());
  const rules = [...ownRules, ...compileRules(globs)];
  const found: string[] = [];
  const began = performance.now();
  let slice = began;
  for (const path of paths) {
    const folded = foldName(path);
    // Also match with a slash: a symbolic link that replaces a protected folder is protected, too.
    const matches = (each: GlobMatcher) => each.test(folded) || each.test(`${folded}/`);
    if (rules.reduce((held, { negated, any }) => (matches(any) ? !negated : held), false)) found.push(path);
    const now = performance.now();
    if (now - began > MAX_MATCHING_MS)
      throw policyViolation(undefined, 'its paths take too long to compare with [land] protect');
    if (now - slice < SLICE_MS) continue;
    await setImmediate();
    slice = performance.now();
  }
  return found;
}

interface Rule {
  negated: boolean;
  any: GlobMatcher;
}

/** Compiles adjacent globs of the same kind into one rule, which is faster. */
function compileRules(globs: readonly string[]): Rule[] {
  const groups: { negated: boolean; globs: string[] }[] = [];
  for (const glob of globs) {
    const negated = glob.startsWith('!');
    if (groups.at(-1)?.negated !== negated) groups.push({ negated, globs: [] });
    groups.at(-1)?.globs.push(foldName(negated ? glob.slice(1) : glob));
  }
  return groups.map(({ negated, globs }) => ({ negated, any: compileGlobs(globs) }));
}

/**
 * Returns globs for `findProtected` that match these files or folders, everything below them, and anything that replaces
 * one of their parent folders.
 */
export function guardGlobs(paths: readonly string[]): string[] {
  return [...new Set(paths.flatMap(globsOf))];
}

function globsOf(path: string): string[] {
  // Glob characters become `?`, which matches slightly more than the character itself.
  const names = path.split('/').map((name) => name.replace(/[*?{},!]/g, '?'));
  const prefixes = names.map((_, index) => names.slice(0, index + 1).join('/'));
  return [...prefixes, `${names.join('/')}/**`];
}

/** Folders that no tool executes anything from. */
const KNOWN = new Set(['.changeset', '.storybook', '.well-known']);
const LINK = '120000';

/**
 * Finds the top-level dot folders, or links in their place, that a story creates: tools keep their configuration there,
 * and a list of known tools would never be complete. Throws GIT_FAILED.
 */
export async function findNewDotFolders({
  gitDir,
  base,
  changed,
}: {
  gitDir: string;
  base: string;
  changed: readonly FileChange[];
}): Promise<string[]> {
  const tops = changed.flatMap(({ path, change, mode }) => {
    const [top = '', below] = path.split('/');
    const isFolder = below !== undefined || mode === LINK;
    return change === 'add' && isFolder && top.startsWith('.') && !KNOWN.has(top) ? [top] : [];
  });
  if (tops.length === 0) return [];
  const [tree] = (await readObjects(gitDir, [`${base}:`])) ?? [];
  const before = new Set(readTree(tree, base.length / 2).map(({ name }) => foldName(name)));
  return [...new Set(tops)].filter((top) => !before.has(foldName(top)));
}

/** The paths of symbolic links, by their target path. */
type Links = ReadonlyMap<string, readonly string[]>;

const MAX_NAMES = 50;
/** No file system has longer targets. */
const MAX_LINK_BYTES = 4_096;

/** Reads the symbolic links of a commit that point into its tree. Throws GIT_FAILED. */
export async function readLinks(gitDir: string, commit: string, signal?: AbortSignal): Promise<Links> {
  const links = await listFiles({ gitDir, commit, signal }, ({ mode }) => mode === LINK);
  const ids = links.map(({ id }) => id);
  const targets = await readObjects(gitDir, ids, { signal, maxEach: MAX_LINK_BYTES });
  if (targets === undefined) throw policyViolation(undefined, 'the symbolic links are too large to be checked');
  const found = new Map<string, string[]>();
  links.forEach(({ path }, index) => {
    const target = targets[index]?.toString('utf8') ?? '';
    const to = posix.join(posix.dirname(path), target).replace(/\/$/, '');
    if (target.startsWith('/') || to.startsWith('..')) return;
    found.set(to, [...(found.get(to) ?? []), path]);
  });
  return found;
}

/** Returns all names of a path, its own first, then those through one or more symbolic links. */
export function namesOf(path: string, links: Links): string[] {
  const names = [path];
  if (links.size === 0) return names;
  for (const name of names) {
    const parts = name.split('/');
    for (let length = parts.length; length > 0 && names.length < MAX_NAMES; length -= 1) {
      const rest = parts.slice(length).map((part) => `/${part}`);
      for (const link of links.get(parts.slice(0, length).join('/')) ?? []) {
        const other = [link, ...rest].join('');
        if (!names.includes(other)) names.push(other);
      }
    }
  }
  return names;
}
