import { randomBytes } from 'node:crypto';
import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { updateMirror } from '../../../src/git/mirror/mirror.ts';
import { hasPushedCommit } from '../../../src/git/repository/push-refs.ts';
import { canMount, mountSmallDisk } from '../../chaos/files/small-disk.ts';
import { commitFiles, makeRepo, run } from '../../support/repository/git-fixture.ts';
import { serveGit } from '../../support/repository/serve-git.ts';
import { skipFor } from '../../support/skip.ts';
import { tempDir } from '../../support/temp-dir.ts';

const MiB = 1024 * 1024;

function freeBytes(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}

describe(
  'incident large-repository: a repository that does not end',
  skipFor(!canMount() && 'needs the right to mount a file system'),
  () => {
    it.each([
      ['that a server sends', (source: string) => `file://${source}`],
      ['in a folder', (source: string) => join(source, '.git')],
    ])('%s is refused before the disk is full, and leaves nothing there', async (_, address) => {
      const disk = mountSmallDisk(4 * MiB);
      onTestFinished(() => disk.unmount());
      const source = join(tempDir(), 'app');
      makeRepo(source);
      const from = address(source);
      await updateMirror({ home: disk.dir, name: 'm', from });
      const before = freeBytes(disk.dir);
      commitFiles(source, { blob: randomBytes(3 * MiB).toString('latin1') }, 'large');
      let least = before;
      const watch = setInterval(() => (least = Math.min(least, freeBytes(disk.dir))), 1);
      const fetched = updateMirror({ home: disk.dir, name: 'm', from });
      await expect(fetched.finally(() => clearInterval(watch))).rejects.toMatchObject({
        code: 'DISK_FAILED',
        message: expect.stringMatching(
          /The repository .+app\S* is larger than \d+ MiB, half of what is free/,
        ) as string,
      });
      expect(least).toBeGreaterThan(MiB);
      expect(before - freeBytes(disk.dir)).toBeLessThan(MiB / 4);
    });

    it('on a branch of a pull request that others have pushed to is not read, and leaves nothing there', async () => {
      const disk = mountSmallDisk(4 * MiB);
      onTestFinished(() => disk.unmount());
      const source = join(tempDir(), 'app');
      const commit = makeRepo(source);
      const login = { user: 'halo', password: 'secret' };
      const server = await serveGit(source, login);
      onTestFinished(() => server.close());
      const { dir } = await updateMirror({ home: disk.dir, name: 'm', from: join(source, '.git') });
      const pushed = { mirrorDir: dir, url: server.url(), login };
      const branch = { name: run(source, ['branch', '--show-current']), commit };
      const small = commitFiles(source, { a: '2' }, 'small');
      expect(await hasPushedCommit(pushed, { ...branch, head: small })).toBe(true);
      const before = freeBytes(disk.dir);
      const large = commitFiles(source, { blob: randomBytes(2 * MiB).toString('latin1') }, 'large');
      expect(await hasPushedCommit(pushed, { ...branch, head: large })).toBe(false);
      expect(before - freeBytes(disk.dir)).toBeLessThan(MiB / 4);
    });
  },
);
