import { readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { FULL, LEVEL } from '../support/suite/level.ts';
import { tempDir } from '../support/temp-dir.ts';

const BUILD = fileURLToPath(new URL('../../scripts/build.cjs', import.meta.url));
const ROUNDS = LEVEL >= FULL ? 30 : 8;
const THREADS = 3;

/** In each round all threads take the lock at the same moment; `counters`: arrived, inside, most inside. */
const THREAD = `
  const { workerData: { build, dir, counters, rounds, threads } } = require('node:worker_threads');
  const { lock } = require(build);
  for (let round = 0; round < rounds; round++) {
    Atomics.add(counters, 0, 1);
    while (Atomics.load(counters, 0) < threads * (round + 1));
    const unlock = lock(dir + '/lock-' + round);
    const inside = Atomics.add(counters, 1, 1) + 1;
    if (inside > 1) Atomics.store(counters, 2, inside);
    Atomics.wait(counters, 3, 0, 2);
    Atomics.sub(counters, 1, 1);
    unlock();
  }
`;

test('a lock of a dead process is taken over by exactly one of several builds', async () => {
  const dir = tempDir('halo-build-lock');
  for (let round = 0; round < ROUNDS; round++) symlinkSync('4194304:abc', join(dir, `lock-${round}`));
  const counters = new Int32Array(new SharedArrayBuffer(16));
  const workerData = { build: BUILD, dir, counters, rounds: ROUNDS, threads: THREADS };
  const threads = Array.from({ length: THREADS }, () => new Worker(THREAD, { eval: true, workerData }));
  const codes = await Promise.all(threads.map((thread) => once(thread, 'exit')));
  expect(codes).toEqual(threads.map(() => [0]));
  expect(counters[2]).toBe(0);
  expect(readdirSync(dir)).toEqual([]);
});

test('a claim of a dead process to remove a lock is taken over as well', async () => {
  const dir = tempDir('halo-build-lock');
  symlinkSync('4194304:abc', join(dir, 'lock-0'));
  symlinkSync('4194304:def', join(dir, 'lock-0.abc'));
  const counters = new Int32Array(new SharedArrayBuffer(16));
  const workerData = { build: BUILD, dir, counters, rounds: 1, threads: 1 };
  expect(await once(new Worker(THREAD, { eval: true, workerData }), 'exit')).toEqual([0]);
  expect(readdirSync(dir)).toEqual([]);
});
