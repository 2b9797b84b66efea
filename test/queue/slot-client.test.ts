import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { SchedulerReply } from '../../src/queue/scheduler/scheduler.ts';
import { SlotClient, type SchedulerClient } from '../../src/queue/scheduler/scheduler-client.ts';

const REPLY: SchedulerReply = { started: undefined, soonestMs: undefined, draining: false, lost: [], granted: [] };
const TICK_MS = 1_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A worker of which each update waits until the test answers it. */
function openClient() {
  const waiting: ((reply: SchedulerReply) => void)[] = [];
  let updates = 0;
  const busy: unknown[] = [];
  const update: SchedulerClient['update'] = (make) => {
    busy.push(make().worker?.busy);
    updates += 1;
    return new Promise((resolve) => waiting.push(resolve));
  };
  const draining: boolean[] = [];
  const client = new SlotClient({ update } as SchedulerClient, {
    worker: { id: 'w', lane: '', host: 'here', slots: 1, pid: 1, version: '1' },
    tickMs: TICK_MS,
    onDraining: (drains) => void draining.push(drains),
    onLost: () => undefined,
    onError: () => undefined,
  });
  return { client, draining, answer: (reply = REPLY) => waiting.shift()?.(reply), updates: () => updates, busy };
}

it('a worker that closes during a tick sends no further one', async () => {
  const { client, answer, updates } = openClient();
  const started = client.start();
  answer();
  await started;
  await vi.advanceTimersByTimeAsync(TICK_MS);
  expect(updates()).toBe(2);
  const closed = client.close();
  answer();
  await closed;
  await vi.advanceTimersByTimeAsync(5 * TICK_MS);
  expect(updates()).toBe(2);
});

it('a job counts from the moment in which it begins, also in a tick before the reply', async () => {
  const { client, answer, busy } = openClient();
  const started = client.start();
  answer();
  await started;
  const begun = client.begin('one');
  await vi.advanceTimersByTimeAsync(TICK_MS);
  expect(busy).toEqual([0, 1, 1]);
  answer();
  expect(await begun).toBeUndefined();
  answer();
  await vi.advanceTimersByTimeAsync(TICK_MS);
  expect(busy).toEqual([0, 1, 1, 0]);
  const closed = client.close();
  answer();
  await closed;
});
