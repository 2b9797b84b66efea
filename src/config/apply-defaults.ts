import type { Config } from './config.ts';
import { resolveConfig } from './resolve.ts';

/** The configuration that a run was submitted with; what the version of halo that wrote it did not know yet has its default. */
export function completeConfig(stored: unknown): Config {
  const { model: preset, ...defaults } = resolveConfig({ cwd: '/' }).config;
  const config = complete(stored, defaults) as Config;
  // Where the model is and whose key it takes belong together: an absent one of these says something.
  const { allow, mode, timing } = preset;
  const model = complete(config.model, { allow, mode, timing }) as Config['model'];
  // So do the prices of a model: what one of them does not name costs nothing extra.
  const prices = { ...defaults.prices, ...(stored as Partial<Config> | undefined)?.prices };
  return { ...config, model, prices };
}

/** Of a table what is stored, and where it says nothing what is the default, all the way down. */
function complete(stored: unknown, preset: unknown): unknown {
  if (!isTable(preset) || !isTable(stored)) return stored ?? preset;
  const missing = Object.entries(preset).map(([key, value]) => [key, complete(stored[key], value)] as const);
  return { ...stored, ...Object.fromEntries(missing) };
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
