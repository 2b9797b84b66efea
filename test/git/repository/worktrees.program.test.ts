import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkOutWorktree } from '../../../src/git/repository/worktrees.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

let repository: TestRepository;
let path: string;
let commits: string[];

beforeEach(() => {
  repository = newRepository({ 'a.txt': 'one\n' });
  path = join(realpathSync(repository.root), '..', 'aside');
  const commit = (text: string) => {
    repository.write('a.txt', text);
    repository.git('commit', '-qam', text.trim());
    return repository.git('rev-parse', 'HEAD');
  };
  commits = [repository.git('rev-parse', 'HEAD'), commit('two\n')];
});
afterEach(() => {
  rmSync(path, { recursive: true, force: true });
});

const checkOut = (commit = commits[1]!) => checkOutWorktree({ gitDir: join(repository.root, '.git'), commit, path });
const text = () => readFileSync(join(path, 'a.txt'), 'utf8');

describe('a separate worktree', () => {
  it('is created, moves forward, and is created again after its folder was deleted', async () => {
    await checkOut(commits[0]);
    expect(text()).toBe('one\n');
    await checkOut();
    expect(text()).toBe('two\n');
    rmSync(path, { recursive: true });
    await checkOut();
    expect(text()).toBe('two\n');
    expect(repository.git('worktree', 'list').split('\n')).toHaveLength(2);
  });

  it('never overwrites a foreign folder or changed files', async () => {
    mkdirSync(path);
    writeFileSync(join(path, 'a.txt'), 'mine');
    await expect(checkOut()).rejects.toMatchObject({ code: 'GIT_FAILED' });
    expect(text()).toBe('mine');
    expect(existsSync(join(path, '.git'))).toBe(false);
    rmSync(path, { recursive: true });
    await checkOut(commits[0]);
    writeFileSync(join(path, 'a.txt'), 'mine');
    await expect(checkOut()).rejects.toMatchObject({ code: 'GIT_FAILED' });
    expect(text()).toBe('mine');
  });
});
