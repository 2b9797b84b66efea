import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { openQueue } from '../../../src/queue/queue.ts';
import { connectRedis } from '../../../src/queue/redis/connect-redis.ts';
import { createWorkerContext } from '../../../src/worker/create-worker-context.ts';
import { Reconciler } from '../../../src/worker/recovery/reconciler.ts';
import { openRedisServer } from '../../support/redis/redis-server.ts';
import { created } from '../../support/journal.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { hostOf } from '../../support/halo/host.ts';

test('an engine that hangs does not prevent the queueing of a lost job', async () => {
  const home = tempDir('halo-hung');
  const sockets = new Set<Socket>();
  const hung = createServer((socket) => void sockets.add(socket)).listen(join(home, 'docker.sock'));
  vi.stubEnv('DOCKER_HOST', `unix://${join(home, 'docker.sock')}`);
  const redis = await openRedisServer();
  const host = hostOf(home, redis.url);
  const link = await vi.waitFor(() => connectRedis(host), { timeout: 10_000 });
  const queue = await openQueue(link);
  const parts = {
    homeId: 'x',
    log: pino({ level: 'silent' }),
    masker: openMasker(),
    cleaning: new Set<Promise<void>>(),
  };
  const worker = createWorkerContext({ ...parts, host, shared: undefined, now: Date.now });
  await worker.store.createRun(created(), { haloVersion: '', agent: { name: 'codex' }, args: [], config: {} });
  const reconciler = new Reconciler(worker, queue, undefined);
  onTestFinished(async () => {
    // Ends what waits for it.
    hung.close();
    for (const socket of sockets) socket.destroy();
    await reconciler.close();
    await queue.close();
    await link.close();
    await redis.close();
    vi.unstubAllEnvs();
  });
  await expect.poll(() => queue.counts(), { timeout: 20_000 }).toMatchObject({ waiting: 1 });
});
