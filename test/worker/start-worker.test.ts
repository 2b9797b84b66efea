import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { connectRedis } from '../../src/queue/redis/connect-redis.ts';
import { startWorker } from '../../src/worker/main.ts';
import { openRedisServer } from '../support/redis/redis-server.ts';

test('a worker that cannot make itself known says so, and leaves no connection that keeps its process alive', async () => {
  // No engine is needed for that.
  vi.stubEnv('DOCKER_HOST', 'unix:///nowhere.sock');
  const server = openRedisServer();
  const home = mkdtempSync(join(tmpdir(), 'halo-start-'));
  const host = { home, redisUrl: server.url, apiUrl: undefined, apiToken: undefined };
  const link = await vi.waitFor(() => connectRedis(host), { timeout: 10_000 });
  onTestFinished(async () => {
    await link.close();
    await server.close();
    rmSync(home, { recursive: true, force: true });
    vi.unstubAllEnvs();
  });
  writeFileSync(join(home, 'workers'), 'a file where a folder should be');
  const starting = startWorker({ host, concurrency: 1, log: pino({ level: 'silent' }) });
  await expect(starting).rejects.toMatchObject({ code: 'DISK_FAILED' });
  const connections = async () => ((await link.client.client('LIST')) as string).trim().split('\n');
  await expect.poll(connections).toHaveLength(1);
});
