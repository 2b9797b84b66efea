import { git } from '../../git/git.ts';
import { readFileAt, splitZero } from '../../git/repo.ts';

/** A commit, where it is. */
export interface Tree {
  gitDir: string;
  commit: string;
}

/**
 * The command that proves a task: the first that the commit has of `./scripts/ci.sh`, `make ci`, `./tests/run.sh` and,
 * where there are Python tests, `pytest -q`. Looked up before the agent works, so that it cannot bring its own.
 */
export async function findVerification(tree: Tree): Promise<string | undefined> {
  const listed = await git(['ls-tree', '-r', '-z', '--full-tree', tree.commit], { gitDir: tree.gitDir });
  const modes = new Map(splitZero(listed.stdout).map((line) => [line.slice(line.indexOf('\t') + 1), line.slice(0, 6)]));
  const isProgram = (path: string) => modes.get(path) === EXECUTABLE;
  if (isProgram('scripts/ci.sh')) return './scripts/ci.sh';
  if (await hasMakeTarget(tree, modes)) return 'make ci';
  if (isProgram('tests/run.sh')) return './tests/run.sh';
  return [...modes.keys()].some((path) => PYTHON_TEST.test(path)) ? 'pytest -q' : undefined;
}

const EXECUTABLE = '100755';
const MAKEFILES = ['GNUmakefile', 'makefile', 'Makefile'];
const PYTHON_TEST = /(^|\/)(test_[^/]*|[^/]*_test)\.py$/;

/** Of several makefiles, make reads the first. */
async function hasMakeTarget({ gitDir, commit }: Tree, modes: ReadonlyMap<string, string>): Promise<boolean> {
  const path = MAKEFILES.find((name) => modes.has(name));
  if (path === undefined) return false;
  const text = await readFileAt({ gitDir, commit, path, maxBytes: 4 * 1024 * 1024 });
  return /^([\w./-]+[ \t]+)*ci([ \t]+[\w./-]+)*[ \t]*::?(?!=)/m.test(text ?? '');
}
