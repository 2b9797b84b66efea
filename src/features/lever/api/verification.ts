import { git } from '../../../git/process/git.ts';
import { readFileAt } from '../../../git/repository/inspect-repo.ts';
import { splitNul } from '../../../git/process/git-output.ts';

/** A commit and its repository. */
interface Tree {
  gitDir: string;
  commit: string;
}

/** The command that verifies a task. */
interface Verification {
  command: string;
  /**
   * The files of the command, relative to the repository: a task that changes them could change its own verification.
   */
  files: readonly string[];
}

/**
 * The verification of a task: the first that the commit has of `./scripts/ci.sh`, `make ci`, `./tests/run.sh` and, if
 * there are Python tests, `pytest -q`. It is chosen before the agent starts, so that the agent cannot add its own.
 */
export async function findVerification(tree: Tree): Promise<Verification | undefined> {
  const listed = await git(['ls-tree', '-r', '-z', '--full-tree', tree.commit], { gitDir: tree.gitDir });
  const modes = new Map(splitNul(listed.stdout).map((line) => [line.slice(line.indexOf('\t') + 1), line.slice(0, 6)]));
  const isProgram = (path: string) => modes.get(path) === EXECUTABLE;
  if (isProgram('scripts/ci.sh')) return { command: './scripts/ci.sh', files: ['scripts/ci.sh'] };
  if (await hasMakeTarget(tree, modes)) return { command: 'make ci', files: MAKEFILES };
  if (isProgram('tests/run.sh')) return { command: './tests/run.sh', files: ['tests/run.sh'] };
  return [...modes.keys()].some((path) => PYTHON_TEST.test(path)) ? { command: 'pytest -q', files: [] } : undefined;
}

const EXECUTABLE = '100755';
/** make reads only the first of these files. */
const MAKEFILES = ['GNUmakefile', 'makefile', 'Makefile'];
const PYTHON_TEST = /(^|\/)(test_[^/]*|[^/]*_test)\.py$/;
/** The targets of a rule: the text before a colon that is not an assignment. */
const TARGETS = /^([^\t#:=][^#:=]*):(?!:{0,2}=)/;

async function hasMakeTarget({ gitDir, commit }: Tree, modes: ReadonlyMap<string, string>): Promise<boolean> {
  const path = MAKEFILES.find((name) => modes.has(name));
  if (path === undefined) return false;
  const text = await readFileAt({ gitDir, commit, path, maxBytes: 4 * 1024 * 1024 });
  return (text ?? '').split('\n').some((line) => TARGETS.exec(line)?.[1]?.split(/\s+/).includes('ci') === true);
}
