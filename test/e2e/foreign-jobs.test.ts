import { Queue } from 'bullmq';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readDeadLetters } from '../../src/queue/dead-letters.ts';
import { openQueue } from '../../src/queue/queue.ts';
import { connectRedis } from '../../src/queue/redis.ts';
import { openHalo, OK, scripted, type TestHalo } from '../support/halo.ts';
import { makeRepository, type TestRepository } from '../support/repository.ts';

let halo: TestHalo;
let repository: TestRepository;

beforeAll(async () => {
  halo = await openHalo();
  repository = makeRepository({});
});
afterAll(async () => {
  await halo.close();
  repository.remove();
});

it('a job of a run that is not in this home is not done and does not come again; runs go on', async () => {
  const link = await connectRedis(halo.host);
  const raw = new Queue('stories', { connection: link.client, prefix: link.prefix, skipVersionCheck: true });
  const queue = await openQueue(link);
  try {
    await queue.enqueue({ runId: 'abcdefgh01', ordinal: 0, attempt: 1 });
    await expect.poll(() => readDeadLetters(link), { timeout: 20_000 }).toHaveLength(1);
    expect((await readDeadLetters(link))[0]?.reason).toContain('there is no run abcdefgh01');
    const state = await halo.run(repository.root, [{ id: 'A' }], scripted(`echo x > x; ${OK}`));
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    expect(await raw.getJobCounts('failed', 'delayed', 'waiting')).toEqual({ failed: 0, delayed: 0, waiting: 0 });
    expect(await readDeadLetters(link)).toHaveLength(1);
  } finally {
    await queue.close();
    await raw.close();
    await link.close();
  }
});
