import { expect, it, vi } from 'vitest';
import { openDiskGuard } from '../../src/sandbox/docker/disk-guard.ts';
import type { Usage } from '../../src/sandbox/docker/disk/disk-meter.ts';
import type { Space } from '../../src/sandbox/docker/disk/disk-space.ts';

/** A guard of a disk on which so many files were made, by anyone, since the volume `v` was admitted. */
async function guarded(counted = true) {
  let made = 0;
  const space = (): Promise<Space> =>
    Promise.resolve({ freeBytes: 2 ** 40, freeInodes: counted ? 1e9 - made : undefined, lowInodes: false });
  const guard = openDiskGuard(space);
  await guard.admit(0, 'v');
  return { guard, make: (files: number) => (made += files) };
}

const usage: Usage = { bytes: 0, complete: true, entries: 0, tooDeep: false, freeBytes: undefined };

it('knows how deep a volume can be at most: as many levels as folders were made', async () => {
  const shallow = await guarded();
  shallow.make(300);
  expect(await shallow.guard.forget('v')).toBe(300);
  expect(await (await guarded(false)).guard.forget('v')).toBe(Infinity);
  expect(await shallow.guard.forget('unknown')).toBe(Infinity);
});

it('has many new files measured, and ends a sandbox whose folders are too deep', async () => {
  const { guard, make } = await guarded();
  const [measure, end] = [vi.fn(() => Promise.resolve({ ...usage, entries: 60_000 })), vi.fn()];
  const leave = guard.watch({ volume: 'v', limitBytes: Infinity, floorBytes: 0, measure, end });
  make(60_000);
  await vi.waitFor(() => expect(measure).toHaveBeenCalledTimes(1), { timeout: 5_000 });
  expect(end).not.toHaveBeenCalled();
  measure.mockResolvedValue({ ...usage, entries: 130_000, tooDeep: true });
  make(60_000);
  await vi.waitFor(() => expect(end).toHaveBeenCalledWith('disk'), { timeout: 5_000 });
  leave();
  expect(await guard.forget('v')).toBeGreaterThan(4_000);
});

it('takes a volume for as deep as it was found to be, and what was made since', async () => {
  const { guard, make } = await guarded();
  const measure = vi.fn(() => Promise.resolve({ ...usage, entries: 50_000 }));
  const leave = guard.watch({ volume: 'v', limitBytes: Infinity, floorBytes: 0, measure, end: vi.fn() });
  make(50_000);
  await vi.waitFor(() => expect(measure).toHaveBeenCalled(), { timeout: 5_000 });
  leave();
  make(70);
  expect(await guard.forget('v')).toBe(1_070);
});
