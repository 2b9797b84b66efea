import { readObjects } from '../objects/read-objects.ts';
import { foldName } from '../path-policy.ts';
import { readTree } from '../objects/tree-entries.ts';
import { violation } from '../violation.ts';

const MOST_FOLDERS = 20_000;

export interface CollisionRequest {
  gitDir: string;
  base: string;
  tree: string;
  /** Paths that `tree` has and `base` has not. */
  added: string[];
  signal?: AbortSignal | undefined;
}

/**
 * Refuses names that only case or Unicode form tells apart, in every folder that got a new path.
 * Pairs that the base has already are its own. Throws POLICY_VIOLATION.
 */
export async function refuseCollisions({ gitDir, base, tree, added, signal }: CollisionRequest): Promise<void> {
  const folders = [...foldersOf(added)];
  const names = folders.flatMap((folder) => [`${tree}:${folder}`, `${base}:${folder}`]);
  const contents = await readObjects(gitDir, names, signal);
  const idBytes = tree.length / 2;
  folders.forEach((folder, index) => {
    const before = new Set(readTree(contents[index * 2 + 1], idBytes).map(({ name }) => name));
    const seen = new Map<string, string>();
    for (const { name } of readTree(contents[index * 2], idBytes)) {
      const twin = seen.get(foldName(name));
      seen.set(foldName(name), name);
      if (twin === undefined || (before.has(name) && before.has(twin))) continue;
      const [late, early] = before.has(name) ? [twin, name] : [name, twin];
      const path = folder === '' ? late : `${folder}/${late}`;
      throw violation(path, `some file systems cannot tell it from "${early}"`);
    }
  });
}

/** Every folder above a path, the top included. */
function foldersOf(paths: string[]): Set<string> {
  const folders = new Set(['']);
  for (const path of paths) {
    // From the bottom up, until one that was met before.
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
    if (folders.size > MOST_FOLDERS) throw violation(undefined, `it adds files in more than ${MOST_FOLDERS} folders`);
  }
  return folders;
}
