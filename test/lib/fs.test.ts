import { mkdirSync, readlinkSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { createFolders, readFolder, readIfExists, syncUpTo } from '../../src/lib/fs.ts';
import { skipFor } from '../support/skip.ts';
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

const hasBirthTimes = statSync(tempDir(), { bigint: true }).birthtimeNs > 0n;

describe('syncUpTo', skipFor(!hasBirthTimes && 'needs a file system that records birth times'), () => {
  /** The paths below the folder that are synced, in order. */
  async function syncedBy(work: () => Promise<void>): Promise<string[]> {
    const probe = await open(dir);
    const handles = Object.getPrototypeOf(probe) as typeof probe;
    await probe.close();
    const paths: string[] = [];
    const sync = vi.spyOn(handles, 'sync').mockImplementation(function (this: typeof probe) {
      paths.push(relative(dir, readlinkSync(`/proc/self/fd/${this.fd}`)) || '.');
      return Promise.resolve();
    });
    await work();
    sync.mockRestore();
    return paths;
  }
  const file = () => join(dir, 'a/b/file');
  const make = () => {
    mkdirSync(join(dir, 'a/b'), { recursive: true });
    writeFileSync(file(), '1');
  };
  const whole = ['a/b/file', 'a/b', 'a', '.'];

  test('syncs a new file and the folders above it, and later only what may have changed', async () => {
    make();
    expect(await syncedBy(() => syncUpTo(file(), dir))).toEqual(whole);
    writeFileSync(file(), '2');
    expect(await syncedBy(() => syncUpTo(file(), dir))).toEqual(['a/b/file']);
    writeFileSync(join(dir, 'new'), '3');
    renameSync(join(dir, 'new'), file());
    expect(await syncedBy(() => syncUpTo(file(), dir))).toEqual(['a/b/file', 'a/b']);
    expect(await syncedBy(() => syncUpTo(join(dir, 'a/b'), dir))).toEqual(['a/b']);
  });

  test('syncs the folders again that were replaced', async () => {
    make();
    await syncUpTo(file(), dir);
    rmSync(join(dir, 'a/b'), { recursive: true });
    make();
    expect(await syncedBy(() => syncUpTo(file(), dir))).toEqual(['a/b/file', 'a/b', 'a']);
  });

  test('syncs what is left of a path that does not exist, and what failed again', async () => {
    make();
    expect(await syncedBy(() => syncUpTo(join(dir, 'a/none/file'), dir))).toEqual(['a', '.']);
    const failing = await open(dir);
    const handles = Object.getPrototypeOf(failing) as typeof failing;
    await failing.close();
    const sync = vi.spyOn(handles, 'sync').mockRejectedValue(Object.assign(new Error('broken'), { code: 'EIO' }));
    await expect(syncUpTo(file(), dir)).rejects.toThrow('broken');
    sync.mockRestore();
    expect(await syncedBy(() => syncUpTo(file(), dir))).toEqual(['a/b/file', 'a/b', 'a']);
  });
});
