import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { TreeFile } from '../objects/tree-list.ts';
import { gitText } from '../process/git.ts';
import { createCommit } from './create-commit.ts';

/** Creates a commit that adds files, whose blobs the repository has, to the tree of its parent. Throws GIT_FAILED. */
export async function commitFiles({
  gitDir,
  parent,
  files,
}: {
  gitDir: string;
  parent: string;
  files: readonly TreeFile[];
}): Promise<string> {
  const index = join(gitDir, 'halo-index');
  const options = { gitDir, env: { GIT_INDEX_FILE: index } };
  try {
    await gitText(['read-tree', parent], options);
    const input = files.map(({ mode, id, path }) => `${mode} ${id}\t${path}\0`).join('');
    await gitText(['update-index', '-z', '--index-info'], { ...options, input });
    const tree = await gitText(['write-tree'], options);
    const author = { name: 'halo', email: 'halo@localhost' };
    return await createCommit({ candidateDir: gitDir, tree, parent, message: 'Tests', author, date: new Date(0) });
  } finally {
    await rm(index, { force: true });
  }
}
