import { expect, it, vi } from 'vitest';
import { judgeLoad } from '../../../src/api/doctor/diagnose.ts';
import { describeBusyHost } from '../../../src/core/host-load.ts';
import { watchSilence } from '../../../src/worker/attempt/phases/watch-silence.ts';

const MINUTE = 60_000;

it.each([
  [{ load: 3.9, cpus: 2 }, undefined],
  [{ load: 4, cpus: 2 }, 'this machine is busy: its load is 4.0 on 2 CPUs'],
  [{ load: 30.25, cpus: 16 }, undefined],
  [{ load: 2.5, cpus: 1 }, 'this machine is busy: its load is 2.5 on 1 CPU'],
])('a load of %j is judged by the number of CPUs', (host, expected) => {
  expect(describeBusyHost(host)).toBe(expected);
  expect(judgeLoad(host).map(({ ok, says }) => [ok, says])).toEqual(expected === undefined ? [] : [['warn', expected]]);
});

it('names the busy machine once when an agent has been silent for minutes', () => {
  vi.useFakeTimers();
  const reports: string[] = [];
  const host = { load: 1, cpus: 2 };
  const watch = watchSilence(
    (text) => {
      reports.push(text);
      return Promise.reject(new Error('the attempt has ended'));
    },
    () => host,
  );
  vi.advanceTimersByTime(1.5 * MINUTE);
  watch.heard();
  vi.advanceTimersByTime(1.5 * MINUTE);
  host.load = 30;
  expect(reports).toEqual([]);
  vi.advanceTimersByTime(0.5 * MINUTE);
  expect(reports).toEqual([
    'the agent has printed nothing for 2 min, and this machine is busy: its load is 30.0 on 2 CPUs, so it may only be slow (docs/performance.md, "A busy host")',
  ]);
  watch.heard();
  vi.advanceTimersByTime(10 * MINUTE);
  expect(reports).toHaveLength(1);

  const stopped = watchSilence(
    (text) => {
      reports.push(text);
      return Promise.resolve();
    },
    () => host,
  );
  stopped.stop();
  vi.advanceTimersByTime(10 * MINUTE);
  expect(reports).toHaveLength(1);
});
