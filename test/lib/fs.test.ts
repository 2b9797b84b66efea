import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { readFolder, readIfExists } from '../../src/lib/fs.ts';
import { tempDir } from '../support/temp-dir.ts';

let dir: string;
beforeEach(() => void (dir = tempDir('halo-fs')));

describe('readIfExists', () => {
  test('an existing file is read as text', async () => {
    writeFileSync(join(dir, 'a.txt'), 'grün\n');
    expect(await readIfExists(join(dir, 'a.txt'))).toBe('grün\n');
  });

  test('a missing file is undefined', async () => {
    expect(await readIfExists(join(dir, 'a.txt'))).toBeUndefined();
  });

  test('any other error is thrown', async () => {
    await expect(readIfExists(dir)).rejects.toMatchObject({ code: 'EISDIR' });
  });
});

describe('readFolder', () => {
  test('an existing folder is read as its names', async () => {
    writeFileSync(join(dir, 'a.txt'), '');
    expect(await readFolder(dir)).toEqual(['a.txt']);
  });

  test('a missing folder has no names', async () => {
    expect(await readFolder(join(dir, 'none'))).toEqual([]);
  });

  test('a file in its place is an error', async () => {
    writeFileSync(join(dir, 'a.txt'), '');
    await expect(readFolder(join(dir, 'a.txt'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });
});
