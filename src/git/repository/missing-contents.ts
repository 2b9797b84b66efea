import { tryGit } from '../process/git.ts';
import { splitZero } from '../split-zero.ts';

/** What a commit names but does not hold. Paths from its top, in the order of the tree. */
export interface Absent {
  submodules: string[];
  /** Files whose content is in Git LFS. */
  pointers: string[];
}

const SUBMODULE = '160000 ';
const POINTER = '^version https://git-lfs\\.github\\.com/spec/v1$';

const SEARCH_MS = 30_000;

/** Empty where git cannot say: it is only worth a warning. */
export async function findAbsent({ gitDir, commit }: { gitDir: string; commit: string }): Promise<Absent> {
  const [tree, filtered] = await Promise.all([
    tryGit(['ls-tree', '-r', '-z', '--full-tree', commit], { gitDir }),
    tryGit(['grep', '-l', '-z', '-F', '-e', 'filter=lfs', commit, '--', ':(glob)**/.gitattributes'], { gitDir }),
  ]);
  const submodules = splitZero(tree.stdout).flatMap((entry) =>
    entry.startsWith(SUBMODULE) ? [entry.slice(entry.indexOf('\t') + 1)] : [],
  );
  // All contents are read only where LFS is in use.
  if (filtered.exitCode !== 0) return { submodules, pointers: [] };
  const found = await tryGit(['grep', '-l', '-z', '-I', '-e', POINTER, commit], { gitDir, timeoutMs: SEARCH_MS });
  // Each is `<commit>:<path>`.
  return { submodules, pointers: splitZero(found.stdout).map((each) => each.slice(commit.length + 1)) };
}
