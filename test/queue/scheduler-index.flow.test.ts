import { expect } from 'vitest';
import { NO_LIMITS } from '../../src/core/run/fleet-limit.ts';
import type { RedisLink } from '../../src/queue/redis/connect-redis.ts';
import { openScheduler, type SchedulerUpdate } from '../../src/queue/scheduler/scheduler.ts';
import { test } from '../support/fixtures.ts';

const ENGINES = Array.from({ length: 20 }, (_, at) => `engine-${at}`);
const idOf = (runId: string) => `s-${runId}-0-a1`;
const runOf = (at: number) => `aaaa${String(at).padStart(6, '0')}`;

const job = (at: number, part: object = {}) => ({
  ...{ id: idOf(runOf(at)), runId: runOf(at), ordinal: 0, attempt: 1, delayMs: 0, lane: '', engines: ENGINES },
  ...{ user: `user-${at % 5}`, repo: 'shop', agent: 'codex', priority: 0, started: false },
  ...part,
});

const worker = (slots: number) => ({
  ...{ id: 'w', lane: '', engine: 'engine-0', host: 'h', slots, pid: 1, version: '1', busy: 0, draining: false },
});

/** What an update grants, and other parts of the queue of a HALO_HOME. */
function open({ client, prefix }: RedisLink) {
  const scheduler = openScheduler(client, { prefix, limits: () => Promise.resolve(NO_LIMITS) });
  const update = async (what: SchedulerUpdate) =>
    (await scheduler.update(() => what)).granted.map(({ entry }) => Number(entry.runId.slice(4)));
  return { update, key: (name: string) => `${prefix}:slots:${name}`, client };
}

test('jobs that an older version of halo has queued get slots, in their order', async ({ link }) => {
  await link.client.flushall();
  const { update, key, client } = open(link);
  await update({ offer: [0, 5, 10, 1].map((at) => job(at)) });
  await client.del(...['running', 'delayed', 'waiting', 'spots', 'index'].map(key));
  expect(await update({ worker: worker(2) })).toEqual([0, 1]);
  await client.del(...['running', 'delayed', 'waiting', 'spots', 'index'].map(key));
  expect(await update({ finish: idOf(runOf(0)), worker: worker(3) })).toEqual([5, 10]);
});

test.for(['running', 'delayed', 'waiting', 'spots', 'index'])(
  'without its key %s, the queue makes the same decisions',
  async (name, { link }) => {
    await link.client.flushall();
    const { update, key, client } = open(link);
    await update({ offer: [...[0, 5, 1].map((at) => job(at)), job(2, { delayMs: 60_000 })] });
    expect(await update({ worker: worker(1) })).toEqual([0]);
    await client.del(key(name));
    expect(await update({ finish: idOf(runOf(0)), worker: worker(1) })).toEqual([1]);
    await client.del(key(name));
    expect(await update({ finish: idOf(runOf(1)), worker: worker(2) })).toEqual([5]);
    await client.del(key(name));
    // A repeated offer does not let the delayed one begin.
    expect(await update({ offer: [job(2, { delayMs: 90_000 })], worker: worker(2) })).toEqual([]);
    expect(await update({ offer: [job(2, { delayMs: 0 })], worker: worker(2) })).toEqual([2]);
  },
);
