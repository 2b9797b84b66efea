import { describe, expect, it } from 'vitest';
import { Baseline, type BaselineSource } from '../../../src/worker/attempt/baseline.ts';
import type { GateResults } from '../../../src/worker/attempt/gate-results.ts';

const CACHED: GateResults = { v: 1, setupFailed: false, gates: [{ command: 'npm test', exitCode: 0 }], tests: [] };
const FOUND: GateResults = { ...CACHED, gates: [{ command: 'npm test', exitCode: 1 }] };

function open(source: Partial<BaselineSource> = {}) {
  const calls = { runs: 0, errors: [] as unknown[] };
  const baseline = new Baseline({
    mode: 'auto',
    read: () => Promise.resolve(undefined),
    lastReportedNoTests: () => Promise.resolve(false),
    onError: (error) => void calls.errors.push(error),
    ...source,
    run: (signal) => {
      calls.runs += 1;
      return source.run?.(signal) ?? Promise.resolve(FOUND);
    },
  });
  return { baseline, calls };
}
const cached = { read: () => Promise.resolve(CACHED) };
const noTests = { lastReportedNoTests: () => Promise.resolve(true) };

describe('a baseline', () => {
  it.each<[string, Partial<BaselineSource>, GateResults | undefined, number]>([
    ['runs in the background', {}, FOUND, 1],
    ['does not run if its results are cached', cached, CACHED, 0],
    ['does not run ahead if the gates report no tests', noTests, undefined, 0],
    ['runs ahead in any case if the configuration says so', { ...noTests, mode: 'always' }, FOUND, 1],
    ['never runs if the configuration says so', { ...cached, mode: 'never' }, undefined, 0],
  ])('%s once it is started', async (_name, source, results, runs) => {
    const { baseline, calls } = open(source);
    baseline.start();
    baseline.start();
    expect(await baseline.startedResults()).toEqual(results);
    expect(calls).toEqual({ runs, errors: [] });
  });

  it.each<[string, Partial<BaselineSource>, GateResults | undefined, number]>([
    ['runs once', {}, FOUND, 1],
    ['runs even if the gates report no tests', noTests, FOUND, 1],
    ['is read from the cache', cached, CACHED, 0],
    ['is unknown if the configuration turns it off', { mode: 'never' }, undefined, 0],
  ])('%s when its results are needed', async (_name, source, results, runs) => {
    const { baseline, calls } = open(source);
    if (runs === 1) baseline.start();
    expect(await Promise.all([baseline.results(), baseline.results()])).toEqual([results, results]);
    expect(calls.runs).toBe(runs);
  });

  it('does not run by itself', async () => {
    const { baseline, calls } = open();
    expect(await baseline.startedResults()).toBeUndefined();
    expect(calls.runs).toBe(0);
  });

  it('does not run after it was stopped', async () => {
    const { baseline, calls } = open();
    baseline.stop();
    baseline.start();
    expect(await baseline.startedResults()).toBeUndefined();
    expect(calls.runs).toBe(0);
  });

  it('stops a run in progress', async () => {
    const run = (signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
    const { baseline, calls } = open({ run });
    baseline.start();
    await expect.poll(() => calls.runs).toBe(1);
    baseline.stop();
    expect(await baseline.startedResults()).toBeUndefined();
    expect(calls.errors).toEqual([]);
  });

  it.each<[string, Partial<BaselineSource>, GateResults | undefined]>([
    ['its cache cannot be read', { read: () => Promise.reject(new Error('no engine')) }, FOUND],
    ['its gates cannot run', { run: () => Promise.reject(new Error('no engine')) }, undefined],
    [
      'it is unknown whether the gates report tests',
      { lastReportedNoTests: () => Promise.reject(new Error('disk')) },
      FOUND,
    ],
  ])('never fails: %s', async (_name, source, results) => {
    const { baseline, calls } = open(source);
    baseline.start();
    expect(await baseline.results()).toEqual(results);
    expect(calls.errors).toHaveLength(1);
  });
});
