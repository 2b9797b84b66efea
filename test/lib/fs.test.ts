import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { createFolders, readFolder, readIfExists } from '../../src/lib/fs.ts';
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

describe('createFolders', () => {
  test('creates a folder with its parents and mode, or leaves an existing one', async () => {
    const deep = join(dir, 'a', 'b', 'c');
    await Promise.all([createFolders(deep, 0o700), createFolders(deep, 0o700), createFolders(join(dir, 'a', 'd'))]);
    await createFolders(deep);
    expect(statSync(deep).mode & 0o777).toBe(0o700);
    expect(statSync(join(dir, 'a', 'b')).mode & 0o777).toBe(0o700);
  });

  test('refuses a file in its place or on its way', async () => {
    writeFileSync(join(dir, 'file'), '');
    await expect(createFolders(join(dir, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(createFolders(join(dir, 'file', 'a'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });

  test('fails below /proc instead of never ending', async () => {
    await expect(createFolders('/proc/halo/a/b')).rejects.toMatchObject({ code: 'ENOENT' });
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
