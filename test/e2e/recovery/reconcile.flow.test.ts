import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openLocal } from '../../../src/api/local.ts';
import type { Host } from '../../../src/config/config.ts';
import { connectRedis, type RedisLink } from '../../../src/queue/redis/connect-redis.ts';
import { startWorker } from '../../../src/worker/main.ts';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { hostOf } from '../../support/halo/host.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

let host: Host;
let repository: TestRepository;
let redis: RedisLink;

beforeEach(async () => {
  const home = tempDir('halo-home');
  host = hostOf(home);
  repository = newRepository();
  redis = await connectRedis(host);
});
afterEach(async () => {
  await redis.close();
});

it('hazard 8: finishes a run whose job was lost with the data of Redis', async () => {
  const operations = openLocal({ host });
  const [submitted] = (
    await operations.submit({
      prd: prdOf([{ id: 'A' }, { id: 'B' }]),
      repos: [repository.root],
      profile: undefined,
      set: scripted(`echo x >> x; ${OK}`),
      allowDirty: false,
    })
  ).runs;
  await redis.client.flushall();
  const worker = await startWorker({ host, concurrency: 1, log: pino({ level: 'silent' }) });
  try {
    for await (const { event } of await operations.followEvents({ runId: submitted!.runId, after: 0, follow: true })) {
      // And once more between the two stories, where the next job has just been queued.
      if (event.type === 'story.ended' && event.story === 'A') await redis.client.flushall();
    }
    const { state } = await operations.getRun({ runId: submitted!.runId });
    expect(state).toMatchObject({ stopReason: 'SUCCESS', epoch: 2 });
    expect(repository.git('log', '--format=%s', `main..halo/${state.runId}`).split('\n')).toHaveLength(2);
  } finally {
    await worker.close();
    await operations.close();
  }
});
