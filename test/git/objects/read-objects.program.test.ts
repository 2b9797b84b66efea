import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { readObjects } from '../../../src/git/objects/read-objects.ts';
import { makeRepo, run } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

const MIB = 1024 * 1024;
let root: string;
let gitDir: string;
beforeAll(() => {
  root = join(tempDir(), 'repository');
  gitDir = join(root, '.git');
  makeRepo(root);
});

const blob = (text: string) => run(root, ['hash-object', '-w', '--stdin'], text);
const textsOf = (contents: (Buffer | undefined)[] | undefined) => contents?.map((each) => each?.toString('utf8'));

describe('objects', () => {
  it('are read in the order of their names, once each; missing and larger ones are undefined', async () => {
    const [a, b, large] = [blob('a'), blob('b\n'), blob('x'.repeat(1_000))];
    const names = [b, 'HEAD:none', a, b, '0'.repeat(40), large];
    expect(textsOf(await readObjects(gitDir, names, { maxEach: 999 }))).toEqual([
      'b\n',
      undefined,
      'a',
      'b\n',
      undefined,
      undefined,
    ]);
    expect(await readObjects(gitDir, [])).toEqual([]);
  });

  it('may be empty, also the first one', async () => {
    const [empty, a] = [blob(''), blob('a')];
    expect(textsOf(await readObjects(gitDir, [empty]))).toEqual(['']);
    expect(textsOf(await readObjects(gitDir, [empty, a, empty]))).toEqual(['', 'a', '']);
  });

  it('may be larger together than what one process may print', async () => {
    const names = ['a', 'b', 'c'].map((letter) => blob(letter.repeat(24 * MIB)));
    const contents = await readObjects(gitDir, names);
    expect(contents?.map((each) => [each?.length, each?.toString('utf8', 0, 1)])).toEqual([
      [24 * MIB, 'a'],
      [24 * MIB, 'b'],
      [24 * MIB, 'c'],
    ]);
  });

  it('are not read if all together are larger than the limit; one that is named often counts once', async () => {
    const [a, b] = [blob('a'.repeat(100)), blob('b'.repeat(100))];
    expect(await readObjects(gitDir, [a, b], { maxBytes: 199 })).toBeUndefined();
    expect(await readObjects(gitDir, [a, a, a], { maxBytes: 199 })).toHaveLength(3);
  });
});
