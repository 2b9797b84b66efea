import type { Host } from '../../../config/config.ts';
import { readConfig } from '../../../api/repository/repo-config.ts';
import { openMemberOf } from '../../../config/keys.ts';
import type { Setting } from '../../../config/settings.ts';
import { readModels } from '../../../config/load/home-files.ts';
import { knownModels } from '../../../core/model/catalog.ts';
import type { Price } from '../../../core/price.ts';
import { listModels } from '../core/model-list.ts';
import type { ModelsView } from './schemas.ts';
import { reachProviders } from './reach-providers.ts';

/** What the configured keys of this machine reach. Throws CONFIG_INVALID. */
export async function viewModels(
  host: Host,
  { all, signal }: { all: boolean; signal: AbortSignal | undefined },
): Promise<ModelsView> {
  const catalog = knownModels(await readModels(host.home));
  const [providers, { settings }] = await Promise.all([
    reachProviders(host, signal),
    readConfig({ host, folder: host.home, profile: undefined, set: [] }),
  ]);
  const prices = ownPrices(settings);
  const { source, date } = catalog;
  return {
    prices: { source, date },
    providers: providers.map(({ api, baseUrl, reach }) => ({
      ...{ api, baseUrl, state: reach.kind },
      ...(reach.kind === 'failed' && { why: reach.why }),
    })),
    models: listModels(providers, { catalog, prices, all }).map((model) => ({ ...model, agents: [...model.agents] })),
  };
}

/** The prices of `[prices]`, by model. */
function ownPrices(settings: readonly Setting[]): Record<string, Price> {
  const own = settings.flatMap(({ key, value }): [string, Price][] => {
    const { table, member } = openMemberOf(key) ?? {};
    if (table !== 'prices' || member === undefined) return [];
    const { input, cached = input, cache_write: cacheWrite = input, output } = value as OwnPrice;
    return [[member, { input, cached, cacheWrite, output }]];
  });
  return Object.fromEntries(own);
}

/** As it is written in a configuration. */
interface OwnPrice {
  input: number;
  cached?: number;
  cache_write?: number;
  output: number;
}
