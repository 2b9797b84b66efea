import type { FileChange } from '../import/import-tree.ts';
import { readObjects } from '../objects/read-objects.ts';
import { foldName } from '../import/path-policy.ts';
import { readTree } from '../objects/tree-entries.ts';

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
  const [tree] = await readObjects(gitDir, [`${base}:`]);
  const before = new Set(readTree(tree, base.length / 2).map(({ name }) => foldName(name)));
  return [...new Set(tops)].filter((top) => !before.has(foldName(top)));
}
