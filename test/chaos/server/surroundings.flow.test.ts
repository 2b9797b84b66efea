import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { TestRepository } from '../../support/repository/repository.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { belowLevel, FULL } from '../../support/suite/level.ts';
import { openWorld, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';
import { PATIENCE } from '../../support/patience.ts';
import { skipFor } from '../../support/skip.ts';

let world: World;
let repository: TestRepository;

beforeEach(() => {
  world = openWorld();
  repository = world.addRepository();
});
afterEach(() => world.close());

const STORIES = [{ id: 'A' }, { id: 'B' }];

async function finish(runId: string, stopReason: string, landed: string[]): Promise<void> {
  await tidyUp(world);
  await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed, stopReason }]);
}

it(
  'hazards 8, 40: Redis is killed in the middle of a landing, loses its events and all its data in the middle of the next story, and again between two',
  { timeout: 300_000 },
  async () => {
    const runId = await world.submit(repository, [...STORIES, { id: 'C' }]);
    const countOf = (wanted: string) => world.journal(runId).filter(({ type }) => type === wanted).length;
    // Held for what the test does meanwhile; what it asserts is also true of a later moment.
    const worker = world.startWorker({ HALO_FAILPOINT: 'ref.before@1:delay=500,gates.before@2:delay=1000' });
    await worker.says('failpoint ref.before');
    process.kill(Number(readFileSync(join(world.home.dir, 'redis', 'redis.pid'), 'utf8')), 'SIGKILL');
    await worker.says('failpoint gates.before');
    expect(countOf('story.started')).toBeGreaterThanOrEqual(2);
    const client = new Redis({ path: join(world.home.dir, 'redis', 'redis.sock') });
    const logs = world.home.start(['logs', runId, '-f'], { cwd: world.home.dir });
    for (const key of await client.keys('*:events')) await client.xtrim(key, 'MAXLEN', 0);
    await client.flushall();
    await vi.waitFor(() => expect(countOf('story.ended')).toBeGreaterThanOrEqual(2), { ...PATIENCE, interval: 50 });
    await client.flushall();
    client.disconnect();
    await world.untilEnded(runId);
    const late = setTimeout(() => logs.process.kill('SIGKILL'), PATIENCE.timeout);
    expect(await logs.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('SUCCESS') as string });
    clearTimeout(late);
    const status = await world.home.halo(['status', runId], { cwd: world.home.dir });
    expect(status.stdout).toMatch(/^state +done/m);
    await stopWorker(worker);
    await finish(runId, 'SUCCESS', ['A', 'B', 'C']);
  },
);

it(
  'hazard 37: a story that kills every worker fails with that reason, and another repository continues',
  { ...skipFor(belowLevel(FULL)), timeout: 300_000 },
  async () => {
    const runId = await world.submit(repository, STORIES, ['retry.crashes=2', 'retry.infrastructure.retries=0']);
    for (let deaths = 0; deaths < 2; deaths += 1) {
      await world.startWorker({ HALO_FAILPOINT: 'agent.before:kill' }).ended;
      await world.expireLocks();
    }
    const other = world.addRepository();
    const otherId = await world.submit(other, STORIES);
    const worker = world.startWorker();
    await world.untilEnded(runId);
    await world.untilEnded(otherId);
    await stopWorker(worker);
    expect(world.journal(runId).at(-1)).toMatchObject({ detail: expect.stringContaining('workers died') as string });
    expect(world.journal(runId).filter(({ type }) => type === 'story.started')).toHaveLength(2);
    await tidyUp(world);
    await checkInvariants(world, [
      { runId, repository, main: 'unchanged', landed: [], stopReason: 'INFRASTRUCTURE' },
      { runId: otherId, repository: other, main: 'unchanged', landed: ['A', 'B'] },
    ]);
  },
);

it(
  'hazard 22: a cancelled run reports a commit that landed without a journal event',
  { timeout: 300_000 },
  async () => {
    const runId = await world.submit(repository, STORIES);
    await world.startWorker({ HALO_FAILPOINT: 'mirror.after:kill' }).ended;
    await world.expireLocks();
    const { says } = await world.operations.cancel({ runId });
    expect(says).toContain(`passed stories are on halo/${runId}: A`);
    const { state } = await world.operations.getRun({ runId });
    expect(state).toMatchObject({
      stopReason: 'USER_ABORT',
      stories: [{ progress: 'passed' }, { progress: 'pending' }],
    });
    await finish(runId, 'USER_ABORT', ['A']);
  },
);
