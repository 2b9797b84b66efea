import { expect, test } from 'vitest';
import { formatConfigDuration, parseDuration } from '../../src/lib/units.ts';

test.each([
  ['45m', 2_700_000],
  ['30s', 30_000],
  ['1h30m', 5_400_000],
  ['250ms', 250],
  ['1m500ms', 60_500],
  ['2d', 172_800_000],
  [' 5s ', 5000],
  ['0s', 0],
])('%j is %i ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each(['', ' ', '5', 'm', '30m1h', '1.5h', '-5s', '5 s', '5min', '99999999999999999999d'])('refuses %j', (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test.each([
  [0, '0s'],
  [250, '250ms'],
  [1400, '1s'],
  [61_000, '1m1s'],
  [5_400_000, '1h30m'],
  [90_061_000, '1d1h'],
  [3_600_000, '1h'],
])('%i ms are shown as %j', (ms, text) => {
  expect(formatConfigDuration(ms)).toBe(text);
});
