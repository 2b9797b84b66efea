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
    expect(await restoreStash(stash!)).toBe(true);
    expect(status()).toBe(before);
    expect([read('a.txt'), read('b.txt'), repository.git('stash', 'list')]).toEqual(['mine\n', 'staged\n', '']);
  });

  it('do not exist if only exceptions and new files have changed', async () => {
    repository.write('tasks.json', '[1]\n');
    repository.write('new.txt', 'new\n');
    expect(await aside()).toBeUndefined();
  });

  it('stay in the list of stashes if they conflict', async () => {
    repository.write('a.txt', 'mine\n');
    const stash = await aside();
    repository.write('a.txt', 'theirs\n');
    repository.commit('theirs');
    expect(await restoreStash(stash!)).toBe(false);
    expect(repository.git('stash', 'list', '--format=%H')).toBe(stash!.commit);
  });

  it('are found below a later stash', async () => {
    repository.write('a.txt', 'mine\n');
    const stash = await aside();
    repository.write('b.txt', 'later\n');
    repository.git('stash');
    expect(await restoreStash(stash!)).toBe(true);
    expect(read('a.txt')).toBe('mine\n');
    expect(repository.git('stash', 'list').split('\n')).toHaveLength(1);
  });
});
