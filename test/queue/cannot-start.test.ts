import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { ensureEmbeddedRedis, locateEmbeddedRedis } from '../../src/queue/redis/embedded-redis.ts';
import { tempDir } from '../support/temp-dir.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

test.each(['ENOSPC', 'EDQUOT', 'EIO'])(
  'hazard 18: data of a server that cannot start is not called damaged while its disk answers %s',
  async (code) => {
    const home = tempDir('halo-redis');
    // No program: the launcher starts the server, which ends immediately.
    vi.stubEnv('PATH', join(home, 'nothing'));
    const paths = await locateEmbeddedRedis(home);
    mkdirSync(join(paths.dir, 'appendonlydir'));
    writeFileSync(join(paths.dir, 'appendonlydir/data'), 'the queue');
    const handle = await open(home);
    const proto = Object.getPrototypeOf(handle) as typeof handle;
    await handle.close();
    vi.spyOn(proto, 'writeFile').mockRejectedValue(Object.assign(new Error(code), { code, errno: -28 }));
    const launcher = () => Promise.resolve(() => 'it exited with 1');
    await expect(ensureEmbeddedRedis(paths, launcher)).rejects.toMatchObject({
      code: 'DISK_FAILED',
      message: expect.stringContaining(`Could not write to ${paths.dir}`) as string,
    });
    expect(existsSync(join(paths.dir, 'appendonlydir/data'))).toBe(true);
    expect(existsSync(join(paths.dir, 'damaged'))).toBe(false);
  },
);
