import { describe, expect, test } from 'vitest';
import { describeOverrun, formatUsd } from '../../src/core/budget.ts';
import { costOf, highestPrice } from '../../src/core/price.ts';

const price = { input: 4, cached: 0.2, cacheWrite: 5, output: 20 };

describe('the cost of an answer', () => {
  test('counts input once: fresh, read from the cache or written to it', () => {
    const usage = { requests: 1, inputTokens: 1_000, cachedTokens: 600, cacheWriteTokens: 100, outputTokens: 10 };
    expect(costOf(usage, price)).toBe(300 * 4 + 600 * 0.2 + 100 * 5 + 10 * 20);
  });

  test('is rounded up to a millionth of a USD, without floating-point noise', () => {
    const usage = { requests: 1, inputTokens: 3, cachedTokens: 3, outputTokens: 0 };
    expect(costOf(usage, { ...price, cached: 0.1 })).toBe(1);
    expect(costOf({ ...usage, inputTokens: 30, cachedTokens: 30 }, { ...price, cached: 0.1 })).toBe(3);
  });

  test('is never more than the reservation', () => {
    expect(highestPrice(price)).toBe(5);
  });

  test('is that of long prompts above their threshold', () => {
    const long = { above: 272_000, input: 8, cached: 0.4, cacheWrite: 10, output: 30 };
    const usage = { requests: 1, inputTokens: 272_000, cachedTokens: 1_000, outputTokens: 10 };
    expect(costOf(usage, { ...price, long })).toBe(costOf(usage, price));
    const more = { ...usage, inputTokens: 272_001 };
    expect(costOf(more, { ...price, long })).toBe(costOf(more, long));
  });
});

test('a used-up budget is reported in one sentence, with reservations of other requests if there are any', () => {
  const overrun = { scope: 'run', unit: 'usd', limit: 5e6, spent: 4.87e6, reserved: 0, needed: 310_000 } as const;
  expect(describeOverrun(overrun)).toBe(
    "The next request may cost up to $0.31, more than what is left of this run's budget ($0.13 of $5.00); raise budget.run_usd to continue.",
  );
  expect(describeOverrun({ ...overrun, unit: 'tokens', reserved: 1_200 })).toContain(
    ', 1,200 tokens reserved for other requests)',
  );
});

test('an overdrawn budget is reported with the usage that the provider counted', () => {
  const overrun = { scope: 'story', unit: 'tokens', limit: 200_000, spent: 3_000_000, reserved: 9, needed: 0 } as const;
  expect(describeOverrun(overrun)).toBe(
    "The provider counted 3,000,000 tokens, more than this story's budget of 200,000; raise budget.story_tokens to continue.",
  );
});

test.each([
  [0, '$0.00'],
  [0.0031, '$0.0031'],
  [0.05, '$0.050'],
  [1.234, '$1.23'],
  // In binary, 1.005 is slightly less.
  [1.005, '$1.01'],
  [25.565, '$25.57'],
  [1.0049, '$1.00'],
])('%d USD are shown as %s', (usd, text) => {
  expect(formatUsd(usd)).toBe(text);
});
