import { isRecord } from '../lib/guards.ts';
import type { Setting } from './settings.ts';

/** The settings of one source. */
export interface ConfigLayer {
  settings: readonly Setting[];
  /** The user who runs halo wrote them; false for the file of a repository and for the options of a request. */
  trusted: boolean;
  /** A request chose them: its options, or a profile of the owner. */
  requested?: true;
  /** A request chose this profile of the file of a repository. */
  chosen?: true;
}

/** The keys of a provider table that name the source of its key; at most one is in effect. */
export const KEY_SOURCES = ['key_env', 'key_file', 'key_command'] as const;

/** The tables with a provider. */
export const PROVIDER_TABLES = ['model', 'providers.openai', 'providers.anthropic', 'providers.google'] as const;

/**
 * Returns the last setting of each key; one that has only some fields of a table is merged with the earlier ones. If a later
 * layer sets one of the three sources of a provider key, the sources in earlier layers are dropped, and the further keys with
 * them.
 */
export function mergeSettings(layers: readonly ConfigLayer[]): Map<string, Setting> {
  const last = new Map<string, Setting>();
  for (const { settings } of layers) {
    for (const table of PROVIDER_TABLES) {
      const group = KEY_SOURCES.map((source) => `${table}.${source}`);
      if (settings.some(({ key }) => group.includes(key)))
        [...group, `${table}.keys`].forEach((key) => last.delete(key));
    }
    for (const setting of settings) last.set(setting.key, withFieldsOf(last.get(setting.key), setting));
  }
  return last;
}

/** A setting that replaces the earlier one is returned itself: callers compare it with those of the layers. */
function withFieldsOf(earlier: Setting | undefined, setting: Setting): Setting {
  if (setting.partial !== true || !isRecord(earlier?.value) || !isRecord(setting.value)) return setting;
  return { ...setting, value: { ...earlier.value, ...setting.value } };
}
