import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  DiskLimiter,
  isBelowFloor,
  isMeasurementDue,
  type VolumeUsage,
} from '../../src/sandbox/docker/disk/disk-limit.ts';
import type { DiskSpace, VolumeMeasurement } from '../../src/sandbox/docker/disk/disk-meter.ts';
import { advanceUntil } from '../support/advance-until.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** A limiter for a disk on which files were created, by any process, since the volume `v` was admitted. */
async function limited(counted = true) {
  let made = 0;
  const space = (): Promise<DiskSpace> =>
    Promise.resolve({ freeBytes: 2 ** 40, freeInodes: counted ? 1e9 - made : undefined, lowInodes: false });
  const limiter = new DiskLimiter(space);
  await limiter.admit(0, 'v');
  return { limiter, make: (files: number) => (made += files) };
}

const usage: VolumeMeasurement = { bytes: 0, complete: true, entries: 0, tooDeep: false, freeBytes: undefined };

it('knows the maximum possible depth of a volume: the number of created folders', async () => {
  const shallow = await limited();
  shallow.make(300);
  expect(await shallow.limiter.forget('v')).toBe(300);
  expect(await (await limited(false)).limiter.forget('v')).toBe(Infinity);
  expect(await shallow.limiter.forget('unknown')).toBe(Infinity);
});

it('knows that the upper volume of an overlay is one folder deeper than the overlay', async () => {
  const { limiter, make } = await limited();
  limiter.addOverlay('v', 'upper');
  make(300);
  expect([await limiter.forget('v'), await limiter.forget('upper')]).toEqual([300, 301]);
  expect(await limiter.forget('upper')).toBe(Infinity);
});

it('measures many new files, and kills a sandbox whose folders are too deep', async () => {
  const { limiter, make } = await limited();
  const [measure, end] = [vi.fn(() => Promise.resolve({ ...usage, entries: 60_000 })), vi.fn()];
  const leave = limiter.watch({ volume: 'v', limitBytes: Infinity, floorBytes: 0, measure, end });
  make(60_000);
  await advanceUntil(() => expect(measure).toHaveBeenCalledTimes(1));
  expect(end).not.toHaveBeenCalled();
  measure.mockResolvedValue({ ...usage, entries: 130_000, tooDeep: true });
  make(60_000);
  await advanceUntil(() => expect(end).toHaveBeenCalledWith('disk'));
  leave();
  expect(await limiter.forget('v')).toBeGreaterThan(4_000);
});

it('assumes the measured depth of a volume plus what was created since', async () => {
  const { limiter, make } = await limited();
  const measure = vi.fn(() => Promise.resolve({ ...usage, entries: 50_000 }));
  const leave = limiter.watch({ volume: 'v', limitBytes: Infinity, floorBytes: 0, measure, end: vi.fn() });
  make(50_000);
  await advanceUntil(() => expect(measure).toHaveBeenCalled());
  leave();
  make(70);
  expect(await limiter.forget('v')).toBe(1_070);
});

const fresh: VolumeUsage = {
  bytes: 0,
  freeBytes: undefined,
  measuredSpace: undefined,
  lastSpace: undefined,
  written: 0,
  measuredAtMs: 0,
  entries: 0,
  created: 0,
  levels: 0,
};
const space: DiskSpace = { freeBytes: 2 ** 30, freeInodes: 1e6, lowInodes: false };

it.each<[name: string, usage: Partial<VolumeUsage>, space: DiskSpace | undefined, nowMs: number, isDue: boolean]>([
  ['nothing was written', {}, space, 60_000, false],
  ['less was written than the volume may grow', { bytes: 40, written: 59 }, space, 60_000, false],
  ['as much was written as the volume may grow', { bytes: 40, written: 60 }, space, 60_000, true],
  ['it was measured within the last second', { bytes: 40, written: 60 }, space, 999, false],
  ['few files were created', { created: 49_999 }, space, 60_000, false],
  ['many files were created', { created: 50_000 }, space, 60_000, true],
  ['fewer files were created than it contains', { entries: 60_000, created: 50_000 }, space, 60_000, false],
  ['the disk cannot be read, 20 s after the last measurement', {}, undefined, 20_000, true],
  ['the disk cannot be read, before', { written: 60 }, undefined, 19_999, false],
])('a volume is measured as needed: %s', (_name, usage, space, nowMs, isDue) => {
  expect(isMeasurementDue({ ...fresh, ...usage }, 100, { space, nowMs })).toBe(isDue);
});

it.each<[name: string, space: DiskSpace | undefined, measuredFreeBytes: number | undefined, isBelow: boolean]>([
  ['enough is free', { ...space, freeBytes: 100 }, undefined, false],
  ['too little is free', { ...space, freeBytes: 99 }, undefined, true],
  ['inodes are short', { ...space, lowInodes: true }, undefined, true],
  ['the disk cannot be read', undefined, undefined, false],
  ['the disk cannot be read, a measurement found too little', undefined, 99, true],
])('the minimum free space of the disk: %s', (_name, space, measuredFreeBytes, isBelow) => {
  expect(isBelowFloor(space, measuredFreeBytes, 100)).toBe(isBelow);
});
