import { utimesSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { NO_LIMITS } from '../../../src/core/run/fleet-limit.ts';
import { openQueue } from '../../../src/queue/queue.ts';
import { connectRedis } from '../../../src/queue/redis/connect-redis.ts';
import type { JobRank } from '../../../src/queue/scheduler/scheduler.ts';
import { openStore } from '../../../src/store/store.ts';
import { openJobRanks } from '../../../src/worker/run/run-ownership.ts';
import { createWorkerContext } from '../../../src/worker/create-worker-context.ts';
import { Reconciler } from '../../../src/worker/recovery/reconciler.ts';
import { openRedisServer } from '../../support/redis/redis-server.ts';
import { created } from '../../support/journal.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { hostOf } from '../../support/halo/host.ts';
import { PATIENCE } from '../../support/patience.ts';

const ORIGIN = { haloVersion: '', agent: { name: 'codex' }, args: [], config: {} };

/** What a reconciler works with, in a home whose engine does not answer. */
async function openParts() {
  const home = tempDir('halo-hung');
  const sockets = new Set<Socket>();
  const hung = createServer((socket) => void sockets.add(socket)).listen(join(home, 'docker.sock'));
  vi.stubEnv('DOCKER_HOST', `unix://${join(home, 'docker.sock')}`);
  const redis = await openRedisServer();
  const host = hostOf(home, redis.url);
  const link = await vi.waitFor(() => connectRedis(host), PATIENCE);
  const store = openStore(home, { transcribe: () => [] });
  const limits = () => Promise.resolve(NO_LIMITS);
  const queue = await openQueue(link, { rankOf: openJobRanks(home, store), limits });
  const parts = {
    homeId: 'x',
    log: pino({ level: 'silent' }),
    masker: openMasker(),
    cleaning: new Set<Promise<void>>(),
  };
  const worker = createWorkerContext({ ...parts, host, shared: undefined, now: Date.now });
  const startReconciler = () => {
    const reconciler = new Reconciler(worker, queue);
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
  };
  return { home, worker, queue, link, startReconciler };
}

test('an engine that hangs does not prevent the queueing of a lost job', async () => {
  const { worker, queue, startReconciler } = await openParts();
  await worker.store.createRun(created(), ORIGIN);
  startReconciler();
  await expect.poll(() => queue.counts()).toMatchObject({ waiting: 1 });
});

test('a change of the configured engines applies to jobs that wait', async () => {
  const { home, worker, link, startReconciler } = await openParts();
  await worker.store.createRun(created(), ORIGIN);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  startReconciler();
  const engines = async () =>
    (await link.client.hvals(`${link.prefix}:slots:jobs`)).map((text) => (JSON.parse(text) as JobRank).engines);
  await expect.poll(engines).toEqual([['local']]);
  writeFileSync(join(home, 'config.toml'), '[[engines]]\nname = "b"\naddress = "unix:///b"\n');
  await expect
    .poll(() => {
      vi.advanceTimersByTime(10_000);
      return engines();
    })
    .toEqual([['local', 'b']]);
});

test('a reconciler reads no files of runs while no run changes; it still restores lost jobs', async () => {
  const { home, worker, queue, link, startReconciler } = await openParts();
  const { store } = worker;
  const [paused, waiting, queued] = [created('0tbq1aaaaaaaaaaa'), created('0tbq1aaaaaaaaaab'), created()];
  await store.createRuns([
    { created: paused, origin: ORIGIN },
    { created: { ...waiting, after: [paused.runId] }, origin: ORIGIN },
    { created: queued, origin: ORIGIN },
  ]);
  await store.append(paused.runId, [{ type: 'run.paused', by: 'ada', now: false }]);
  const reads: string[] = [];
  for (const name of ['readState', 'journalBytes', 'settle'] as const) {
    const read = store[name].bind(store);
    Object.assign(store, { [name]: (runId: string) => (reads.push(runId), read(runId)) });
  }
  const folded: string[] = [];
  const readState = store.readState.bind(store);
  Object.assign(store, { readState: (runId: string) => (folded.push(runId), readState(runId)) });
  let turns = 0;
  const jobIds = queue.jobIds.bind(queue);
  Object.assign(queue, { jobIds: () => ((turns += 1), jobIds()) });
  // The time of the last change is long past.
  const settle = () => utimesSync(join(home, 'open-runs'), 1_000, 1_000);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  startReconciler();
  await expect.poll(() => queue.counts()).toMatchObject({ waiting: 1 });
  /** Waits for a whole turn: the next one begins only after it. */
  const turn = async () => {
    const before = turns;
    await vi.waitFor(() => {
      vi.advanceTimersByTime(10_000);
      expect(turns).toBeGreaterThan(before + 1);
    }, PATIENCE);
  };
  settle();
  await turn();
  expect(reads).toEqual(expect.arrayContaining([paused.runId, waiting.runId, queued.runId]));
  reads.length = 0;
  await turn();
  expect(reads).toEqual([]);
  // A change of one run, in which the others need not be read.
  await store.append(queued.runId, [{ type: 'run.started' }]);
  await turn();
  await turn();
  folded.length = 0;
  await store.append(queued.runId, [{ type: 'run.paused', by: 'ada', now: false }]);
  await turn();
  expect(new Set(folded)).toEqual(new Set([queued.runId]));
  folded.length = 0;
  await store.append(paused.runId, [{ type: 'run.resumed', by: 'ada' }]);
  await turn();
  expect(new Set(folded)).toEqual(new Set([paused.runId, waiting.runId]));
  await store.append(paused.runId, [{ type: 'run.paused', by: 'ada', now: false }]);
  await store.append(queued.runId, [{ type: 'run.resumed', by: 'ada' }]);
  await turn();
  settle();
  await turn();
  reads.length = 0;
  await link.client.flushall();
  await turn();
  expect(new Set(reads)).toEqual(new Set([queued.runId]));
  expect(await queue.counts()).toMatchObject({ waiting: 1 });
  reads.length = 0;
  await store.append(paused.runId, [{ type: 'run.ended', stopReason: 'SUCCESS', detail: '' }]);
  await turn();
  expect(reads).toContain(waiting.runId);
  expect(await queue.counts()).toMatchObject({ waiting: 2 });
});
