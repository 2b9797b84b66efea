import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { connectRedis } from '../../src/queue/redis/connect-redis.ts';
import { startWorker } from '../../src/worker/main.ts';
import { openRedisServer } from '../support/redis/redis-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { hostOf } from '../support/halo/host.ts';
import { PATIENCE } from '../support/patience.ts';

test('a worker that cannot register reports it, and leaves no connection that keeps its process alive', async () => {
  // No engine is needed for that.
  vi.stubEnv('DOCKER_HOST', 'unix:///nowhere.sock');
  const server = await openRedisServer();
  const home = tempDir('halo-start');
  const host = hostOf(home, server.url);
  const link = await vi.waitFor(() => connectRedis(host), PATIENCE);
  onTestFinished(async () => {
    await link.close();
    await server.close();
    vi.unstubAllEnvs();
  });
  writeFileSync(join(home, 'workers'), 'a file where a folder should be');
  const starting = startWorker({ host, concurrency: 1, log: pino({ level: 'silent' }) });
  await expect(starting).rejects.toMatchObject({ code: 'DISK_FAILED' });
  const connections = async () => ((await link.client.client('LIST')) as string).trim().split('\n');
  await expect.poll(connections).toHaveLength(1);
});
