import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runProgram } from '../process/run-program.ts';
import { CHEAP, copyBase, headOf } from './recorded-base.ts';

/** A temporary git repository. */
export interface TestRepository {
  root: string;
  git: (...args: string[]) => string;
  write: (path: string, content: string) => void;
  commit: (message: string) => string;
  remove: () => void;
}

/** Makes a repository with a first commit, in a folder of its own in `where`. `name` may be strange on purpose. */
export function makeRepository(
  files: Record<string, string> = {},
  name = 'repository',
  where = tmpdir(),
): TestRepository {
  const parent = mkdtempSync(join(where, 'halo-repo-'));
  const root = join(parent, name);
  copyBase(root, `Tess ${JSON.stringify(files)}`, (base) => {
    const repository = repositoryAt(base);
    repository.git('init', '-q', '-b', 'main');
    for (const [path, content] of Object.entries({ 'README.md': 'A test.\n', ...files }))
      repository.write(path, content);
    repository.commit('start');
  });
  return { ...repositoryAt(root), remove: () => rmSync(parent, { recursive: true, force: true }) };
}

function repositoryAt(root: string): Omit<TestRepository, 'remove'> {
  const git = (...args: string[]) => runProgram('git', args, { cwd: root }).toString('utf8').trim();
  const write = (path: string, content: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  };
  const commit = (message: string) => {
    git('add', '-A');
    git(...CHEAP, '-c', 'user.name=Tess', '-c', 'user.email=tess@example.com', 'commit', '-q', '-m', message);
    return headOf(root);
  };
  return { root, git, write, commit };
}
