import type { ModelApi } from '../agent.ts';
import type { Price } from '../price.ts';
import builtIn from './models.json' with { type: 'json' };

/** What is known of a model of a provider. */
export interface ModelFacts {
  api: ModelApi;
  name: string;
  /** Other names of the same model. */
  aliases?: readonly string[];
  /** Its context window, in tokens. */
  context?: number;
  /** Of the standard tier; the gateway does not allow requests for faster, more expensive tiers. */
  price: Price;
}

/** Models with their prices, as a source published them. */
export interface ModelCatalog {
  source: string;
  /** The day on which it was read, `YYYY-MM-DD`. */
  date: string;
  models: readonly ModelFacts[];
}

/** Models that the source of the catalogs may lack, by the price lists of their providers on 2026-10-01. */
export const ADDED_MODELS: readonly ModelFacts[] = [
  {
    api: 'anthropic',
    name: 'claude-sonnet-5-5',
    price: { input: 2, cached: 0.2, cacheWrite: 2.5, output: 10 },
  },
  {
    api: 'anthropic',
    name: 'claude-haiku-5-5',
    price: { input: 0.5, cached: 0.05, cacheWrite: 0.625, output: 2.5 },
  },
];

/** All known models: those that are part of halo, or those of `updated` if that is not older. */
export function knownModels(updated?: ModelCatalog): ModelCatalog {
  const newer = updated === undefined || updated.date < builtIn.date ? (builtIn as ModelCatalog) : updated;
  const added = ADDED_MODELS.filter(({ name }) => !newer.models.some((model) => model.name === name));
  return { ...newer, models: [...newer.models, ...added] };
}

/** A model by one of its names, which may end with a date, `-latest` or `-preview` in addition. */
export function findModel({ models }: ModelCatalog, name: string): ModelFacts | undefined {
  const has = (wanted: string) =>
    models.find((model) => model.name === wanted) ?? models.find(({ aliases = [] }) => aliases.includes(wanted));
  const short = withoutSuffix(name);
  return has(name) ?? has(short) ?? models.find((model) => withoutSuffix(model.name) === short);
}

function withoutSuffix(name: string): string {
  return name.replace(/-(\d{8}|\d{4}-\d{2}-\d{2}|latest|preview)$/, '');
}
