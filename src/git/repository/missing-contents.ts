import { tryGit } from '../process/git.ts';
import { splitNul } from '../process/output.ts';

/** Contents that a commit references but does not contain. Paths from its root, in the order of the tree. */
export interface MissingContents {
  submodules: string[];
  /** Files whose content is in Git LFS. */
  pointers: string[];
}

const SUBMODULE = '160000 ';
const POINTER = '^version https://git-lfs\\.github\\.com/spec/v1$';

const SEARCH_MS = 30_000;

/** Finds submodules and LFS pointers. Returns nothing if git fails, because the result is only used for a warning. */
export async function searchMissingContents({
  gitDir,
  commit,
}: {
  gitDir: string;
  commit: string;
}): Promise<MissingContents> {
  const [tree, filtered] = await Promise.all([
    tryGit(['ls-tree', '-r', '-z', '--full-tree', commit], { gitDir }),
    tryGit(['grep', '-l', '-z', '-F', '-e', 'filter=lfs', commit, '--', ':(glob)**/.gitattributes'], { gitDir }),
  ]);
  const submodules = splitNul(tree.stdout).flatMap((entry) =>
    entry.startsWith(SUBMODULE) ? [entry.slice(entry.indexOf('\t') + 1)] : [],
  );
  // Search file contents only if LFS is in use.
  if (filtered.exitCode !== 0) return { submodules, pointers: [] };
  const found = await tryGit(['grep', '-l', '-z', '-I', '-e', POINTER, commit], { gitDir, timeoutMs: SEARCH_MS });
  // Each is `<commit>:<path>`.
  return { submodules, pointers: splitNul(found.stdout).map((each) => each.slice(commit.length + 1)) };
}
