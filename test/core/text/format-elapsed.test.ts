import { expect, it } from 'vitest';
import { formatElapsed } from '../../../src/core/text/format-elapsed.ts';

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

it.each([
  [-5, '0.0s'],
  [400, '0.4s'],
  [59_900, '59.9s'],
  [MINUTE, '1m 00s'],
  [2 * MINUTE + 5_000, '2m 05s'],
  [HOUR + 2 * MINUTE, '1h 02m'],
  [47 * HOUR + 59 * MINUTE, '47h 59m'],
  [2 * DAY, '2d 00h'],
  [22 * DAY + 5 * HOUR + MINUTE, '22d 05h'],
])('%i ms are %s', (ms, text) => expect(formatElapsed(ms)).toBe(text));
