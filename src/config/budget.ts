import type { Config } from './config.ts';
import { BUDGET_SCOPES } from '../core/budget.ts';
import { builtInPrice, PRICES_AS_OF, type Price } from '../core/price.ts';
import { mergeSettings, type Layer } from './resolve-model.ts';
import type { HaloToml } from './schema.ts';
import type { Setting } from './settings.ts';

/** Settings that decide what may be spent; from another machine they are refused. */
export function decidesSpending(key: string): boolean {
  return ['budget', 'prices', 'rate'].some((table) => key === table || key.startsWith(`${table}.`));
}

/** The file of a repository, which others write, may lower a budget and not raise it: the smaller of both counts. */
export function capByRepository(setting: Setting, layers: readonly Layer[]): Setting {
  if (!setting.key.startsWith('budget.')) return setting;
  const [own, foreign] = [true, false].map((trusted) =>
    mergeSettings(layers.filter((layer) => layer.trusted === trusted)).get(setting.key),
  );
  if (own === undefined || foreign === undefined) return setting;
  return Number(foreign.value) < Number(own.value) ? foreign : own;
}

/** `[budget]`, and the prices of the models that may be asked for. */
export function toSpending({ budget, prices, rate, model }: HaloToml): Pick<Config, 'budget' | 'prices' | 'rate'> {
  const models = [...new Set([model.name ?? '', ...model.allow])];
  const priceOf = (name: string): Price | undefined => {
    const own = Object.hasOwn(prices, name) ? prices[name] : undefined;
    if (own === undefined) return builtInPrice(name);
    const { input, cached = input, cache_write: cacheWrite = input, output } = own;
    return { input, cached, cacheWrite, output };
  };
  return {
    budget: {
      story: { usd: budget.story_usd, tokens: budget.story_tokens },
      run: { usd: budget.run_usd, tokens: budget.run_tokens },
      day: { usd: budget.day_usd, tokens: budget.day_tokens },
    },
    prices: Object.fromEntries(
      models.flatMap((name) => {
        const price = priceOf(name);
        return price === undefined ? [] : [[name, price]];
      }),
    ),
    rate: Object.fromEntries(models.flatMap((name) => (Object.hasOwn(rate, name) ? [[name, rate[name] ?? {}]] : []))),
  };
}

/** A budget of money cannot be kept for a model that has no price. */
export function findUnpriced({ model, budget, prices }: Config, originOf: (key: string) => string): string[] {
  if (model.api === undefined || model.mode === 'replay') return [];
  const scope = BUDGET_SCOPES.find((each) => budget[each].usd !== undefined);
  if (scope === undefined) return [];
  return [model.name, ...model.allow]
    .filter((name) => !Object.hasOwn(prices, name))
    .map(
      (name) =>
        `${originOf(`budget.${scope}_usd`)}: budget.${scope}_usd: halo does not know what the model "${name}" costs ` +
        `(its prices are of ${PRICES_AS_OF}); add [prices."${name}"] with input and output, in USD per million ` +
        'tokens, to config.toml of HALO_HOME',
    );
}
