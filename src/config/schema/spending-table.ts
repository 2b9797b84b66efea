import { z } from 'zod';
import { key } from './key-metadata.ts';
import { BUDGET, owner } from '../trust/key-trust.ts';
import { perModel, Usd, wholeNumber } from './values.ts';

const Tokens = wholeNumber(1, 1_000_000_000_000).optional();

const DOLLARS = 'must be a number of USD from 0 to 100000';
const Dollars = z.number({ error: DOLLARS }).min(0, DOLLARS).max(100_000, DOLLARS);
const Prices = perModel(
  '[prices."my-model"] with input and output',
  z.strictObject({ input: Dollars, cached: Dollars.optional(), cache_write: Dollars.optional(), output: Dollars }),
);
const Rates = perModel(
  '[rate."my-model"] with rpm, tpm or rph',
  z.strictObject(
    {
      rpm: wholeNumber(1, 1_000_000).optional(),
      tpm: wholeNumber(1, 1_000_000_000).optional(),
      rph: wholeNumber(1, 10_000_000).optional(),
    },
    { error: ({ code }) => (code === 'invalid_type' ? 'must be a table, like { rpm = 60, rph = 1000 }' : undefined) },
  ),
);

const OF_A_DAY = 'all runs per day (UTC): of a user, of a repository, of this HALO_HOME.';

const usd = (meaning: string) => key(Usd.optional(), ['number of USD', undefined, meaning], BUDGET);
const tokens = (meaning: string) => key(Tokens, ['whole number', undefined, meaning], BUDGET);

/** Keys for cost, prices and request rates of models. */
export const spending = {
  budget: z.strictObject({
    story_usd: usd('Maximum cost of a story with all its attempts.'),
    run_usd: usd('Maximum cost of a run.'),
    user_usd: usd(`Maximum cost of ${OF_A_DAY}`),
    repository_usd: usd(`Maximum cost of ${OF_A_DAY}`),
    day_usd: usd(`Maximum cost of ${OF_A_DAY}`),
    story_tokens: tokens('Maximum tokens of a story, input plus output.'),
    run_tokens: tokens('Maximum tokens of a run.'),
    user_tokens: tokens(`Maximum tokens of ${OF_A_DAY}`),
    repository_tokens: tokens(`Maximum tokens of ${OF_A_DAY}`),
    day_tokens: tokens(`Maximum tokens of ${OF_A_DAY}`),
  }),
  prices: key(
    Prices,
    [
      'table of tables',
      {},
      'USD per million tokens of a model: `input`, `output`, `cached`, `cache_write`. They override [the built-in prices](gateway.md#prices).',
    ],
    owner('set the prices of models'),
  ),
  rate: key(
    Rates,
    [
      'table of tables',
      {},
      'Maximum requests (`rpm`) and tokens (`tpm`) per minute of a model, and requests per hour (`rph`), over all workers: `[rate."name"]`.',
    ],
    owner('set the request rates of models'),
  ),
};
