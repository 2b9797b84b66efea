import { posix } from 'node:path';
import { readObjects } from '../objects/read-objects.ts';
import { listFiles } from '../objects/tree-list.ts';

/** The paths of symbolic links, by their target path. */
export type Links = ReadonlyMap<string, readonly string[]>;

const LINK = '120000';
const MAX_NAMES = 50;

/** Reads the symbolic links of a commit that point into its tree. Throws GIT_FAILED. */
export async function readLinks(gitDir: string, commit: string, signal?: AbortSignal): Promise<Links> {
  const links = await listFiles({ gitDir, commit, signal }, ({ mode }) => mode === LINK);
  const ids = links.map(({ id }) => id);
  const targets = await readObjects(gitDir, ids, signal);
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
