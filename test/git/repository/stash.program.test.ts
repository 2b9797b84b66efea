import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { restoreStash, stashChanges } from '../../../src/git/repository/stash.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

let repository: TestRepository;
beforeEach(() => {
  repository = newRepository({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'tasks.json': '[]\n' });
});

const read = (path: string) => readFileSync(join(repository.root, path), 'utf8');
const status = () => repository.git('status', '--porcelain');
const aside = () => stashChanges(repository.root, { except: ['tasks.json'], message: 'aside' });

describe('stashed changes', () => {
  it('are restored unchanged, with their index; new files and exceptions stay meanwhile', async () => {
    repository.write('a.txt', 'mine\n');
    repository.write('b.txt', 'staged\n');
    repository.git('add', 'b.txt');
    repository.write('tasks.json', '[1]\n');
    repository.write('new.txt', 'new\n');
    const before = status();
    const stash = await aside();
    expect(status()).toBe('M tasks.json\n?? new.txt');
    expect(await restoreStash(stash!)).toBeUndefined();
    expect(status()).toBe(before);
    expect([read('a.txt'), read('b.txt'), repository.git('stash', 'list')]).toEqual(['mine\n', 'staged\n', '']);
  });

  it('do not exist if only exceptions and new files have changed', async () => {
    repository.write('tasks.json', '[1]\n');
    repository.write('new.txt', 'new\n');
    expect(await aside()).toBeUndefined();
  });

  it('stay in the list of stashes if they conflict, and leave the checkout as it is committed', async () => {
    repository.write('a.txt', 'mine\n');
    repository.write('b.txt', 'also mine\n');
    repository.write('added.txt', 'added\n');
    repository.git('add', 'added.txt');
    const stash = await aside();
    repository.write('tasks.json', '[1]\n');
    repository.write('new.txt', 'new\n');
    repository.write('a.txt', 'theirs\n');
    repository.git('commit', '--quiet', '-m', 'theirs', 'a.txt');
    expect(await restoreStash(stash!)).toEqual({ conflicts: ['a.txt'] });
    expect(repository.git('stash', 'list', '--format=%H')).toBe(stash!.commit);
    expect([status(), read('a.txt'), read('b.txt')]).toEqual(['M tasks.json\n?? new.txt', 'theirs\n', 'b\n']);
    expect(read('tasks.json')).toBe('[1]\n');
  });

  it('stay in the list of stashes, and the checkout as it is, if a file has other changes meanwhile', async () => {
    repository.write('a.txt', 'mine\n');
    const stash = await aside();
    repository.write('a.txt', 'written meanwhile\n');
    repository.write('b.txt', 'staged meanwhile\n');
    repository.git('add', 'b.txt');
    expect(await restoreStash(stash!)).toEqual({
      reason: expect.stringMatching(/a\.txt|local changes|dirty|index/) as string,
    });
    expect([read('a.txt'), status()]).toEqual(['written meanwhile\n', 'M a.txt\nM  b.txt']);
  });

  it('are reported as missing if their entry was dropped', async () => {
    repository.write('a.txt', 'mine\n');
    const stash = await aside();
    repository.git('stash', 'drop', '--quiet');
    expect(await restoreStash(stash!)).toEqual({ reason: 'it is not in the list of stashes any more' });
  });

  it('cannot be made while conflicts are unresolved, and the error has the words of git', async () => {
    repository.write('a.txt', 'mine\n');
    repository.git('stash');
    repository.write('a.txt', 'theirs\n');
    repository.commit('theirs');
    expect(() => repository.git('stash', 'apply')).toThrow();
    await expect(aside()).rejects.toMatchObject({
      code: 'GIT_FAILED',
      message: expect.stringMatching(/^git stash failed in .*: a\.txt: needs merge$/) as string,
    });
  });

  it('are found below a later stash', async () => {
    repository.write('a.txt', 'mine\n');
    const stash = await aside();
    repository.write('b.txt', 'later\n');
    repository.git('stash');
    expect(await restoreStash(stash!)).toBeUndefined();
    expect(read('a.txt')).toBe('mine\n');
    expect(repository.git('stash', 'list').split('\n')).toHaveLength(1);
  });
});
