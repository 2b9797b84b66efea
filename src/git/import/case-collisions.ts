import { readObjects } from '../objects/read-objects.ts';
import { foldName } from './path-policy.ts';
import { readTree } from '../objects/tree-entries.ts';
import { policyViolation } from './policy-violation.ts';

const MAX_FOLDERS = 20_000;

export interface CollisionRequest {
  gitDir: string;
  base: string;
  tree: string;
  /** Paths in `tree` that are not in `base`. */
  added: string[];
  signal?: AbortSignal | undefined;
}

/**
 * Rejects names that differ only in case or Unicode form, in every folder that got a new path. Pairs that already exist
 * in the base are allowed. Throws POLICY_VIOLATION.
 */
export async function assertNoCaseCollisions({ gitDir, base, tree, added, signal }: CollisionRequest): Promise<void> {
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
      throw policyViolation(path, `some file systems cannot distinguish it from "${early}"`);
    }
  });
}

/** All parent folders of the paths, including the root. */
function foldersOf(paths: string[]): Set<string> {
  const folders = new Set(['']);
  for (const path of paths) {
    // Bottom up, until a folder that is already known.
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
    if (folders.size > MAX_FOLDERS)
      throw policyViolation(undefined, `it adds files in more than ${MAX_FOLDERS} folders`);
  }
  return folders;
}
