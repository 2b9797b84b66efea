import { z } from 'zod';
import type { ModelApi } from '../agent.ts';
import type { Price } from '../price.ts';
import type { ModelCatalog, ModelFacts } from './catalog.ts';

/** Where prices are published: https://github.com/pydantic/genai-prices. */
export const PRICES_URL = 'https://raw.githubusercontent.com/pydantic/genai-prices/main/prices/new_data/v2/data.json';

const Usd = z.number().min(0).max(100_000);
/** USD per million tokens; above `start` tokens of input, another price for all of them. */
const Rate = z.union([
  Usd,
  z.object({ base: Usd, tiers: z.array(z.object({ start: z.number().int().min(0), price: Usd })).min(1) }),
]);
const Prices = z.looseObject({
  input_mtok: Rate.optional(),
  cache_read_mtok: Rate.optional(),
  cache_write_mtok: Rate.optional(),
  output_mtok: Rate.optional(),
});
const Dated = z.object({
  constraint: z.looseObject({ start_date: z.iso.date().optional() }).nullish(),
  prices: Prices,
});
const Match = z.looseObject({
  equals: z.string().optional(),
  or: z.array(z.looseObject({ equals: z.string().optional() })).optional(),
});
const Model = z.object({
  id: z.string().min(1).max(200),
  match: Match.optional(),
  context_window: z.number().int().positive().nullish(),
  prices: z.union([Prices, z.array(Dated)]),
});
const Providers = z.array(z.object({ id: z.string(), models: z.array(z.unknown()) })).min(1);
type Rate = z.output<typeof Rate>;

/** Which providers count, and which of their models generate text. */
const USED: Record<ModelApi, RegExp> = {
  openai: /^(?:gpt-\d|o\d|codex-)/,
  anthropic: /^claude-[a-z]+-\d/,
  google: /^gemini-\d/,
};
/** Models for pictures and sound, and tunings of a customer. */
const OTHER = /image|audio|tts|transcribe|realtime|live|vision|:|\.ft-|instruct/;

/**
 * Reads a list of prices in the format of https://github.com/pydantic/genai-prices (version 2) into a catalog. `date`: the
 * day, `YYYY-MM-DD`, whose prices count. Throws an Error if it is not such a list, or one without models that halo can use.
 */
export function readPrices(data: unknown, { source, date }: Pick<ModelCatalog, 'source' | 'date'>): ModelCatalog {
  const providers = Providers.safeParse(data).data;
  if (providers === undefined) throw new Error('it is not a list of providers with models');
  const models = (Object.keys(USED) as ModelApi[]).flatMap((api) =>
    providers.flatMap(({ id, models }) => (id === api ? models.flatMap((model) => readModel(api, model, date)) : [])),
  );
  if (models.length === 0) throw new Error('it has no models of OpenAI, Anthropic or Google');
  return { source, date, models };
}

function readModel(api: ModelApi, value: unknown, date: string): ModelFacts[] {
  const model = Model.safeParse(value).data;
  if (model === undefined || !USED[api].test(model.id) || OTHER.test(model.id)) return [];
  const { id: name, match, context_window: context } = model;
  const price = toPrice(Array.isArray(model.prices) ? inForce(model.prices, date) : model.prices);
  if (price === undefined) return [];
  const equal = [match?.equals, ...(match?.or ?? []).map(({ equals }) => equals)];
  const aliases = [...new Set(equal.filter((each) => each !== undefined && each !== name))] as string[];
  return [{ api, name, ...(aliases.length > 0 && { aliases }), ...(context != null && { context }), price }];
}

/** The last prices whose first day has come. */
function inForce(dated: readonly z.output<typeof Dated>[], date: string): z.output<typeof Prices> | undefined {
  return dated.filter(({ constraint }) => (constraint?.start_date ?? '') <= date).at(-1)?.prices;
}

function toPrice(prices: z.output<typeof Prices> | undefined): Price | undefined {
  const { input_mtok: input, output_mtok: output } = prices ?? {};
  if (input === undefined || output === undefined) return undefined;
  const rates = {
    input,
    cached: prices?.cache_read_mtok ?? input,
    cacheWrite: prices?.cache_write_mtok ?? input,
    output,
  };
  const above = Math.min(
    ...Object.values(rates).flatMap((rate) => (typeof rate === 'number' ? [] : rate.tiers.map(({ start }) => start))),
  );
  if (above === Infinity) return mapRates(rates, baseOf);
  return { ...mapRates(rates, baseOf), long: { above, ...mapRates(rates, highestOf) } };
}

function mapRates(rates: Record<'input' | 'cached' | 'cacheWrite' | 'output', Rate>, of: (rate: Rate) => number) {
  const { input, cached, cacheWrite, output } = rates;
  return { input: of(input), cached: of(cached), cacheWrite: of(cacheWrite), output: of(output) };
}

const baseOf = (rate: Rate) => (typeof rate === 'number' ? rate : rate.base);
/** Of several tiers, the most expensive one: a budget must not be exceeded. */
const highestOf = (rate: Rate) =>
  typeof rate === 'number' ? rate : Math.max(rate.base, ...rate.tiers.map(({ price }) => price));
