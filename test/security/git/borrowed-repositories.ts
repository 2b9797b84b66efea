import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestRepository } from '../../support/repository/repository.ts';

const git = (dir: string, ...args: string[]) => execFileSync('git', ['-C', dir, ...args], { stdio: 'pipe' }).toString();

/** Ways to make a repository at `repo` from the files of another one. */
export const BORROWED: Record<string, (repo: string, other: TestRepository) => void> = {
  'a .git file': (repo, { root }) => {
    mkdirSync(repo);
    writeFileSync(join(repo, '.git'), `gitdir: ${root}/.git\n`);
  },
  'a .git link': (repo, { root }) => {
    mkdirSync(repo);
    symlinkSync(join(root, '.git'), join(repo, '.git'));
  },
  commondir: (repo, { root }) => {
    mkdirSync(join(repo, '.git'), { recursive: true });
    writeFileSync(join(repo, '.git', 'commondir'), `${root}/.git\n`);
    writeFileSync(join(repo, '.git', 'HEAD'), 'ref: refs/heads/main\n');
  },
  'a linked worktree': (repo, other) => void other.git('worktree', 'add', '-q', '--detach', repo),
  alternates: (repo, other) => {
    git('/', 'init', '-q', '-b', 'main', repo);
    writeFileSync(join(repo, '.git/objects/info/alternates'), `# of a friend\n${other.root}/.git/objects\n`);
    writeFileSync(join(repo, '.git/refs/heads/main'), `${other.git('rev-parse', 'HEAD')}\n`);
  },
  'alternates in quotes, of alternates': (repo, other) => {
    git('/', 'init', '-q', '-b', 'main', repo);
    const between = `${repo}-objects`;
    mkdirSync(join(between, 'info'), { recursive: true });
    writeFileSync(join(between, 'info/alternates'), `"${other.root.replace('/', '\\057')}/.git/objects"\n`);
    writeFileSync(join(repo, '.git/objects/info/alternates'), '../../../x-objects\n');
    writeFileSync(join(repo, '.git/refs/heads/main'), `${other.git('rev-parse', 'HEAD')}\n`);
  },
  'a link to objects': (repo, other) => {
    git('/', 'init', '-q', '-b', 'main', repo);
    rmSync(join(repo, '.git/objects'), { recursive: true });
    symlinkSync(join(other.root, '.git/objects'), join(repo, '.git/objects'));
    writeFileSync(join(repo, '.git/refs/heads/main'), `${other.git('rev-parse', 'HEAD')}\n`);
  },
  'a link to the branches that halo writes': (repo, other) => {
    git('/', 'init', '-q', '-b', 'main', repo);
    git(repo, '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty', '-m', 'x');
    symlinkSync(join(other.root, '.git/refs/heads'), join(repo, '.git/refs/heads/halo'));
  },
  'a bare repository whose objects are a link': (repo, other) => {
    git('/', 'init', '-q', '--bare', '-b', 'main', repo);
    rmSync(join(repo, 'objects'), { recursive: true });
    symlinkSync(join(other.root, '.git/objects'), join(repo, 'objects'));
    writeFileSync(join(repo, 'refs/heads/main'), `${other.git('rev-parse', 'HEAD')}\n`);
  },
};
