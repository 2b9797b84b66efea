import { expect, test } from 'vitest';
import { joinBuffers } from '../../../src/lib/streams.ts';

test('buffers that follow each other in memory are joined without a copy', () => {
  const whole = Buffer.from('0123456789');
  const joined = joinBuffers([whole.subarray(2, 5), whole.subarray(5, 5), whole.subarray(5, 9)]);
  expect(joined.toString()).toBe('2345678');
  whole[3] = 0x78;
  expect(joined.toString()).toBe('2x45678');
});

test.each([
  ['of different memory', ['01', '23'].map((text) => Buffer.from(new TextEncoder().encode(text).buffer)), '0123'],
  ['with a gap', [Buffer.from('0123').subarray(0, 1), Buffer.from('0123').subarray(2)], '023'],
  ['in another order', ((whole) => [whole.subarray(2), whole.subarray(0, 2)])(Buffer.from('0123')), '2301'],
  ['one', [Buffer.from('0123')], '0123'],
  ['none', [], ''],
])('buffers are joined: %s', (_name, pieces, joined) => {
  expect(joinBuffers(pieces).toString()).toBe(joined);
});
