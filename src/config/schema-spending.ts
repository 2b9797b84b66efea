import { z } from 'zod';
import { key } from './key-facts.ts';
import { perModel, Usd, wholeNumber } from './schema/values.ts';

const Tokens = wholeNumber(1, 1_000_000_000_000).optional();

const DOLLARS = 'must be a number of USD from 0 to 100000';
const Dollars = z.number({ error: DOLLARS }).min(0, DOLLARS).max(100_000, DOLLARS);
const Prices = perModel(
  '[prices."my-model"] with input and output',
  z.strictObject({ input: Dollars, cached: Dollars.optional(), cache_write: Dollars.optional(), output: Dollars }),
);
const Rates = perModel(
  '[rate."my-model"] with rpm or tpm',
  z.strictObject({ rpm: wholeNumber(1, 1_000_000).optional(), tpm: wholeNumber(1, 1_000_000_000).optional() }),
);

/** Keys that decide what models may cost, and how often they are asked. */
export const spending = {
  budget: z.strictObject({
    story_usd: key(Usd.optional(), [
      'number of USD',
      undefined,
      'Most that one story may cost, with all its attempts.',
    ]),
    run_usd: key(Usd.optional(), ['number of USD', undefined, 'Most that one run may cost.']),
    day_usd: key(Usd.optional(), [
      'number of USD',
      undefined,
      'Most that all runs of this HALO_HOME may cost in a day (UTC).',
    ]),
    story_tokens: key(Tokens, ['whole number', undefined, 'Most tokens of one story, input and output together.']),
    run_tokens: key(Tokens, ['whole number', undefined, 'Most tokens of one run.']),
    day_tokens: key(Tokens, ['whole number', undefined, 'Most tokens of all runs of this HALO_HOME in a day (UTC).']),
  }),
  prices: key(Prices, [
    'table of tables',
    {},
    'USD per million tokens of a model: `input`, `output`, `cached`, `cache_write`. They go before [those that halo knows](gateway.md#prices).',
  ]),
  rate: key(Rates, [
    'table of tables',
    {},
    'Most requests (`rpm`) and tokens (`tpm`) a minute of a model, over all workers: `[rate."name"]`. Without it, there is no limit but the provider’s.',
  ]),
};
