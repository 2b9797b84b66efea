import { expect, it } from 'vitest';
import { readPrices } from '../../../src/core/model/read-prices.ts';

const OF = { source: 'a test', date: '2026-11-01' };
const listOf = (...models: unknown[]) => [{ id: 'openai', models }];
const priceOf = (prices: unknown) => readPrices(listOf({ id: 'gpt-9', prices }), OF).models[0]?.price;

it('reads names, context and prices per million tokens', () => {
  const model = {
    id: 'gpt-9',
    match: { or: [{ equals: 'gpt-9' }, { equals: 'gpt-9-codex' }, { starts_with: 'gpt-9-2' }] },
    context_window: 400_000,
    prices: { input_mtok: 5, cache_read_mtok: 0.5, output_mtok: 30 },
  };
  expect(readPrices(listOf(model), OF)).toEqual({
    ...OF,
    models: [
      {
        api: 'openai',
        name: 'gpt-9',
        aliases: ['gpt-9-codex'],
        context: 400_000,
        price: { input: 5, cached: 0.5, cacheWrite: 5, output: 30 },
      },
    ],
  });
});

it('uses the prices whose first day has come', () => {
  const dated = (day: string | undefined, input: number) => ({
    ...(day !== undefined && { constraint: { start_date: day } }),
    prices: { input_mtok: input, output_mtok: 9 },
  });
  expect(priceOf([dated(undefined, 1), dated('2026-10-31', 2), dated('2026-11-02', 3)])).toMatchObject({ input: 2 });
});

it('takes the most expensive tier for long prompts, from the first threshold', () => {
  const tiered = { base: 1, tiers: [{ start: 272_000, price: 2 }, { start: 500_000, price: 4 }] }; // prettier-ignore
  expect(priceOf({ input_mtok: tiered, output_mtok: 6 })).toEqual({
    ...{ input: 1, cached: 1, cacheWrite: 1, output: 6 },
    long: { above: 272_000, input: 4, cached: 4, cacheWrite: 4, output: 6 },
  });
});

it.each([
  ['a page instead of a list', '<html>', 'not a list of providers'],
  ['no providers', [], 'not a list of providers'],
  [
    'other providers only',
    [{ id: 'mistral', models: [{ id: 'gpt-9', prices: { input_mtok: 1, output_mtok: 1 } }] }],
    'no models of OpenAI',
  ],
  ['a price without output', listOf({ id: 'gpt-9', prices: { input_mtok: 1 } }), 'no models of OpenAI'],
  ['a negative price', listOf({ id: 'gpt-9', prices: { input_mtok: -1, output_mtok: 1 } }), 'no models of OpenAI'],
  [
    'a model for pictures',
    listOf({ id: 'gpt-9-image', prices: { input_mtok: 1, output_mtok: 1 } }),
    'no models of OpenAI',
  ],
])('refuses %s', (_, data, says) => {
  expect(() => readPrices(data, OF)).toThrow(says);
});
