import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sleep } from '../../../src/lib/async.ts';
import { openRedisServer, type RedisServer } from '../../support/redis/redis-server.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { openTcpProxy } from '../../support/redis/tcp-proxy.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { belowLevel, FULL } from '../../support/suite/level.ts';
import { openWorld, SETTINGS, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';
import { skipFor } from '../../support/skip.ts';

let world: World;
let redis: RedisServer;
let env: { HALO_REDIS_URL: string };
let repository: TestRepository;

beforeEach(async () => {
  redis = await openRedisServer();
  world = openWorld({ socket: redis.socket });
  env = { HALO_REDIS_URL: redis.url };
  repository = world.addRepository();
});
afterEach(async () => {
  await world.close();
  await redis.close();
});

const STORIES = [{ id: 'A' }, { id: 'B' }];

async function finish(...runIds: string[]): Promise<void> {
  await tidyUp(world, env);
  const landed = STORIES.map(({ id }) => id);
  const promised = runIds.map((runId) => ({ runId, repository, main: 'unchanged' as const, landed }));
  await checkInvariants(world, promised);
}

const untilStoryEnded = (runId: string) =>
  vi.waitFor(() => expect(world.journal(runId).some(({ type }) => type === 'story.ended')).toBe(true), {
    timeout: 120_000,
    interval: 50,
  });
const starts = (runId: string) => world.journal(runId).filter(({ type }) => type === 'story.started').length;

describe('hazard 6: Redis is unavailable when a story ends', { ...skipFor(belowLevel(FULL)), timeout: 300_000 }, () => {
  it('no story is repeated when Redis is unavailable for longer than the takeover time', async () => {
    const runId = await world.submit(repository, STORIES);
    const worker = world.startWorker({ ...env, HALO_FAILPOINT: 'job.done@1:delay=4000' });
    await worker.says('failpoint job.done');
    await redis.kill();
    // The job is done now, and twice the time passes for which its lock and its turn last.
    await sleep(12_000);
    redis.start();
    await world.untilEnded(runId);
    await stopWorker(worker);
    expect(starts(runId)).toBe(2);
    await finish(runId);
  });
});

describe(
  'hazard 7: a worker whose connection to Redis is cut',
  { ...skipFor(belowLevel(FULL)), timeout: 300_000 },
  () => {
    it('silently, in the middle of a story: the run ends, and every story lands once', async () => {
      const proxy = await openTcpProxy(redis.socket);
      const runId = await world.submit(repository, STORIES);
      const near = { HALO_REDIS_URL: `redis://127.0.0.1:${proxy.port}` };
      const worker = world.startWorker({ ...near, HALO_FAILPOINT: 'gates.before@1:delay=1000' });
      await worker.says('failpoint gates.before');
      proxy.turn('black hole');
      await sleep(20_000);
      proxy.forgetAll();
      proxy.turn('clear');
      await world.untilEnded(runId);
      await stopWorker(worker);
      await proxy.close();
      await finish(runId);
    });
  },
);

describe('hazard 9: Redis is full', { ...skipFor(belowLevel(FULL)), timeout: 300_000 }, () => {
  it('a running story ends, new runs are kept with a message, and all continue when there is space', async () => {
    const client = new Redis({ path: redis.socket, maxRetriesPerRequest: null });
    // The second run takes the same file, as it was.
    const runId = await world.submit(repository, STORIES, ['prd.write_back=false']);
    const worker = world.startWorker({ ...env, HALO_FAILPOINT: 'agent.after@1:delay=2000' });
    await worker.says('failpoint agent.after');
    await client.config('SET', 'maxmemory', '1');
    await untilStoryEnded(runId);
    const [prd] = world.journal(runId).flatMap((event) => (event.type === 'run.created' ? [event.prdPath] : []));
    const words = ['submit', prd!, '--repo', repository.root, ...SETTINGS.flatMap((pair) => ['-c', pair])];
    const late = await world.home.halo(words, { cwd: world.home.dir, env });
    expect(late).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\w+\n$/) as string });
    expect(late.stderr).toMatch(/saved \w+ for .*not queued yet: Redis at .* is out of memory/);
    await client.config('SET', 'maxmemory', '0');
    client.disconnect();
    const lateId = late.stdout.trim();
    await Promise.all([world.untilEnded(runId), world.untilEnded(lateId)]);
    await stopWorker(worker);
    await finish(runId, lateId);
  });
});
