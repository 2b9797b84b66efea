import type { ModelApi } from '../../../core/agent.ts';
import { findModel, type ModelCatalog } from '../../../core/model/catalog.ts';
import type { Price } from '../../../core/price.ts';

/** What a provider answered when halo asked for its models with the configured key. */
export type Reach =
  | { kind: 'reached'; models: readonly string[] }
  /** No key is configured. */
  | { kind: 'no-key' }
  /** The provider or the way to it refused; `why` ends a sentence. */
  | { kind: 'failed'; why: string };

/** A provider, as a run of an agent on this machine would use it. */
export interface ProviderReach {
  api: ModelApi;
  baseUrl: string;
  /** The default: for runs that set no model. */
  preset: string;
  /** Agents that speak its protocol. */
  agents: readonly string[];
  reach: Reach;
}

/** A model that can be chosen with `model.name`. */
export interface ListedModel {
  api: ModelApi;
  name: string;
  context?: number;
  /** Absent: halo does not know it, so that no budget of money can apply. */
  price?: Price;
  /** The price is one of `[prices]`. */
  ownPrice?: true;
  agents: readonly string[];
  /** Runs use it unless they name another one. */
  preset?: true;
}

/**
 * The models that the configured keys reach, by provider; `all`: also those of providers without a key, and those that the
 * provider does not list. Of the names of one model, the one that the provider uses.
 */
export function listModels(
  providers: readonly ProviderReach[],
  { catalog, prices, all }: { catalog: ModelCatalog; prices: Readonly<Record<string, Price>>; all: boolean },
): ListedModel[] {
  return providers.flatMap(({ api, preset, agents, reach }) => {
    const ofCatalog = catalog.models.filter((model) => model.api === api).map(({ name }) => name);
    const reached = reach.kind === 'reached' ? reach.models.filter((name) => isKnown(name)) : [];
    const rest = all ? ofCatalog.filter((name) => !reached.some((other) => nameOf(other) === name)) : [];
    function isKnown(name: string): boolean {
      return all || findModel(catalog, name)?.api === api || Object.hasOwn(prices, name);
    }
    function nameOf(name: string): string | undefined {
      return findModel(catalog, name)?.name;
    }
    return [...new Set([...reached, ...rest])].sort().map((name): ListedModel => {
      const facts = findModel(catalog, name);
      const own = Object.hasOwn(prices, name) ? prices[name] : undefined;
      const price = own ?? facts?.price;
      return {
        api,
        name,
        ...(facts?.context !== undefined && { context: facts.context }),
        ...(price !== undefined && { price }),
        ...(own !== undefined && { ownPrice: true as const }),
        agents,
        ...(name === preset && { preset: true as const }),
      };
    });
  });
}

/** The ids in the list of models that a provider returns. Throws an Error if it is not such a list. */
export function readModelIds(api: ModelApi, body: unknown): string[] {
  const list = (body as Partial<Record<'data' | 'models', unknown>> | null)?.[api === 'google' ? 'models' : 'data'];
  if (!Array.isArray(list)) throw new Error('its answer is not a list of models');
  return list.flatMap((each: unknown) => {
    const { id, name } = (each ?? {}) as { id?: unknown; name?: unknown };
    const text = api === 'google' ? name : id;
    return typeof text === 'string' && text.length <= MAX_NAME ? [text.replace(/^models\//, '')] : [];
  });
}

const MAX_NAME = 200;
