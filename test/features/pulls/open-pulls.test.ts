import { expect, it } from 'vitest';
import { pauseBetweenReadings } from '../../../src/features/pulls/core/open-pulls.ts';

it.each([
  [1, false, 60],
  [20, false, 60],
  [21, false, 120],
  [100, false, 300],
  [1, true, 300],
  [100, true, 1_500],
])('%i open pull requests, quiet: %s, are read every %i seconds', (open, isQuiet, seconds) => {
  expect(pauseBetweenReadings({ everyMs: 60_000, open, isQuiet })).toBe(seconds * 1_000);
});
