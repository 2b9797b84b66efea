import type { Config } from './config.ts';
import { resolveConfig } from './resolve.ts';
import { isRecord } from '../lib/guards.ts';

/** Resolved once: all runs of a process have the same defaults. */
let defaultConfig: Config | undefined;

/** The stored configuration of a run. Keys that its record lacks have their default: it was refused, or the file was changed. */
export function applyDefaults(stored: unknown): Config {
  defaultConfig ??= resolveConfig({ cwd: '/' }).config;
  const { model: preset, ...defaults } = defaultConfig;
  const config = complete(stored, defaults) as Config;
  // An absent URL or key of the model is meaningful, so it gets no default.
  const { allow, fallback, keys, mode, timing } = preset;
  const model = complete(config.model, { allow, fallback, keys, mode, timing }) as Config['model'];
  // An absent price of a model is meaningful as well: it means no extra cost.
  const prices = { ...defaults.prices, ...(stored as Partial<Config> | undefined)?.prices };
  return { ...config, model, prices };
}

/** Merges stored values over defaults, recursively. */
function complete(stored: unknown, preset: unknown): unknown {
  if (!isRecord(preset) || !isRecord(stored)) return stored ?? preset;
  const missing = Object.entries(preset).map(([key, value]) => [key, complete(stored[key], value)] as const);
  return { ...stored, ...Object.fromEntries(missing) };
}
