import type { Change } from '../import/import-tree.ts';
import { readObjects } from '../objects/read-objects.ts';
import { foldName } from '../path-policy.ts';
import { readTree } from '../objects/tree-entries.ts';

/** Nothing outside takes orders from these. */
const KNOWN = new Set(['.changeset', '.storybook', '.well-known']);
const LINK = '120000';

/**
 * The folders with a dot at the top that a story makes, links among them: tools keep their orders there, and new ones
 * come faster than a list of them can follow. Throws GIT_FAILED.
 */
export async function findNewDotFolders({
  gitDir,
  base,
  changed,
}: {
  gitDir: string;
  base: string;
  changed: readonly Change[];
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
