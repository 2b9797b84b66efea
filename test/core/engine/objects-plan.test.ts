import { expect, it } from 'vitest';
import { findSurplusVolumes, needsVolume } from '../../../src/core/engine/objects-plan.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const HOUR = 3_600_000;
const commit = 'a'.repeat(40);

it.each([
  ['nothing of a small repository', undefined, 200 * KIB, false],
  ['nothing of a larger one', undefined, 300 * KIB, true],
  ['all', 10 * MIB, 0, false],
  ['all but little', 10 * MIB, 200 * KIB, false],
  ['all but a large file', 10 * MIB, 2 * MIB, true],
  ['all but a large file of a huge repository', 1024 * MIB, 2 * MIB, false],
])('whether an engine that has %s gets a volume', (_what, bytes, missingBytes, expected) => {
  expect(needsVolume(bytes === undefined ? undefined : { commit, bytes }, missingBytes)).toBe(expected);
});

const volume = (name: string, usedHoursAgo: number, mirror = 'm', isInUse = false) => ({
  name,
  mirror,
  usedAt: 1_000 * HOUR - usedHoursAgo * HOUR,
  isInUse,
});
const surplus = (volumes: ReturnType<typeof volume>[], isShort = false) =>
  findSurplusVolumes(volumes, { now: 1_000 * HOUR, isShort }).map(({ name }) => name);

it('four volumes of a repository stay, and those in use', () => {
  const many = [1, 2, 3, 4, 5, 6, 7].map((hours) => volume(`${hours}`, hours));
  expect(surplus([...many, volume('other', 9, 'n'), volume('used', 8, 'm', true)])).toEqual(['7', '6', '5']);
});

it('volumes that were not used for two weeks go', () => {
  expect(surplus([volume('old', 15 * 24), volume('used', 15 * 24, 'm', true), volume('recent', 13 * 24)])).toEqual([
    'old',
  ]);
});

it('if the disk is short, all go that are not in use', () => {
  expect(surplus([volume('a', 1), volume('b', 2, 'n'), volume('c', 3, 'n', true)], true)).toEqual(['b', 'a']);
});
