import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { connectRedis } from '../../src/queue/redis/connect-redis.ts';
import { openHalo } from './halo/halo.ts';
import { newRepository } from './repository/new-repository.ts';
import { tempDir } from './temp-dir.ts';

/**
 * Tests with fixtures, made when a test asks for them. Each test has its own `home` (a HALO_HOME) and `repository`. The
 * tests of a file share `halo`, whose worker executes `concurrency` stories in parallel, and `link`, a connection to
 * halo’s own Redis. `journal` reads the events of a run of `halo`. All of them are closed or removed after use.
 */
export const test = base
  .extend('concurrency', { scope: 'file' }, 2)
  .extend('halo', { scope: 'file' }, async ({ concurrency }, { onCleanup }) => {
    const halo = await openHalo({ concurrency });
    onCleanup(() => halo.close());
    return halo;
  })
  .extend(
    'journal',
    { scope: 'file' },
    ({ halo }) =>
      (runId: string) =>
        halo.journal(runId),
  )
  .extend('link', { scope: 'file' }, async ({}, { onCleanup }) => {
    // Redis works in the folder until it is closed, which is after the hooks of the file.
    const home = mkdtempSync(join(tmpdir(), 'halo-redis-'));
    const link = await connectRedis({ home, redisUrl: undefined });
    onCleanup(async () => {
      await link.close();
      rmSync(home, { recursive: true, force: true });
    });
    return link;
  })
  .extend('home', () => tempDir('halo-home'))
  .extend('repository', () => newRepository());

export { test as it };
