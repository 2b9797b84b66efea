import { join } from 'node:path';
import { z } from 'zod';
import { HaloError } from '../../core/failure/errors.ts';
import type { ModelCatalog } from '../../core/model/catalog.ts';
import { tryParseJson } from '../../lib/parse-json.ts';
import { readConfigFile, readConfigText } from './config-file.ts';
import type { ConfigSources } from './file-layers.ts';

/** The files of a HALO_HOME that decide on configurations: config.toml and models.json. Throws CONFIG_INVALID. */
export async function readHomeFiles(home: string): Promise<Pick<ConfigSources, 'home' | 'models'>> {
  const [config, models] = await Promise.all([readConfigFile(join(home, 'config.toml')), readModels(home)]);
  return { home: config, models };
}

/** The file with the models that `halo models update` has read. */
export function modelsPath(home: string): string {
  return join(home, 'models.json');
}

/** The models of that file; undefined without one. Throws CONFIG_INVALID. */
export async function readModels(home: string): Promise<ModelCatalog | undefined> {
  const path = modelsPath(home);
  const text = await readConfigText(path);
  if (text === undefined) return undefined;
  const { data } = Catalog.safeParse(tryParseJson(text));
  if (data !== undefined) return data as ModelCatalog;
  throw new HaloError('CONFIG_INVALID', `${path} is damaged.`, {
    hint: 'Run `halo models update`, or remove the file: halo then uses the prices that are part of it.',
  });
}

const Prices = { input: z.number(), cached: z.number(), cacheWrite: z.number(), output: z.number() };
const Catalog = z.object({
  source: z.string(),
  date: z.iso.date(),
  models: z.array(
    z.object({
      api: z.enum(['openai', 'anthropic', 'google']),
      name: z.string(),
      aliases: z.array(z.string()).optional(),
      context: z.number().optional(),
      price: z.object({ ...Prices, long: z.object({ above: z.number(), ...Prices }).optional() }),
    }),
  ),
});
