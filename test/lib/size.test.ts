import { expect, test } from 'vitest';
import { formatSize, parseSize } from '../../src/lib/units.ts';

test.each([
  ['100b', 100],
  ['64k', 65_536],
  ['512m', 536_870_912],
  ['4g', 4_294_967_296],
  ['4GB', 4_294_967_296],
  ['1.5GiB', 1_610_612_736],
  ['1t', 1_099_511_627_776],
])('%j is %i bytes', (text, bytes) => {
  expect(parseSize(text)).toBe(bytes);
});

test.each(['', '4', 'g', '-1g', '4 g', '1e3m', '4gg', '4bb', '4ib', '99999999999t'])('refuses %j', (text) => {
  expect(parseSize(text)).toBeUndefined();
});

test.each([
  [0, '0b'],
  [1023, '1023b'],
  [1024, '1k'],
  [1_572_864, '1.5m'],
  [4_294_967_296, '4g'],
])('%i bytes are shown as %j', (bytes, text) => {
  expect(formatSize(bytes)).toBe(text);
});
