import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gitText } from './git.ts';

export interface Worktree {
  path: string;
  /** Full ref name; undefined when detached or bare. */
  branch: string | undefined;
}

/** The checkouts of a repository, the main one first. */
export async function listWorktrees(gitDir: string): Promise<Worktree[]> {
  const text = await gitText(['worktree', 'list', '--porcelain'], { gitDir });
  return text.split('\n\n').flatMap((block) => {
    const path = /^worktree (.*)$/m.exec(block)?.[1];
    return path === undefined ? [] : [{ path, branch: /^branch (.*)$/m.exec(block)?.[1] }];
  });
}

/** The operation that a checkout is in the middle of, in words, or undefined. `gitDir` is the checkout's own. */
export async function unfinishedWork(gitDir: string): Promise<string | undefined> {
  const marks: [string, string][] = [
    ['MERGE_HEAD', 'a merge'],
    ['CHERRY_PICK_HEAD', 'a cherry-pick'],
    ['REVERT_HEAD', 'a revert'],
    ['rebase-merge/head-name', 'a rebase'],
    ['rebase-apply/next', 'a rebase or git am'],
  ];
  for (const [file, words] of marks) if ((await readText(join(gitDir, file))) !== undefined) return words;
  return undefined;
}

/** The ref that a rebase in this checkout will move when it ends, or undefined. */
export async function rebasedRef(gitDir: string): Promise<string | undefined> {
  const [merge, apply] = await Promise.all(
    ['rebase-merge', 'rebase-apply'].map((folder) => readText(join(gitDir, folder, 'head-name'))),
  );
  return (merge ?? apply)?.trim();
}

async function readText(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined);
}
