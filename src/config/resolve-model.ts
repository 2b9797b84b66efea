import { hasOwnAdapter, type AgentId, type ModelApi } from '../core/agent.ts';
import { defined } from '../lib/guards.ts';
import type { KeySource, ModelSource } from './config.ts';
import { KEY_SOURCES, mergeSettings, PROVIDER_TABLES, type ConfigLayer } from './config-layer.ts';
import { DEFAULT_ORIGIN, type Setting } from './settings.ts';
import { trustOf } from './trust/trust.ts';

interface Preset {
  name: string;
  base_url: string;
  key_env: string;
}

const PRESETS: Record<ModelApi, Preset> = {
  openai: { name: 'gpt-5.5', base_url: 'https://api.openai.com/v1', key_env: 'OPENAI_API_KEY' },
  anthropic: { name: 'claude-sonnet-5-5', base_url: 'https://api.anthropic.com/v1', key_env: 'ANTHROPIC_API_KEY' },
  google: {
    name: 'gemini-2.5-pro',
    base_url: 'https://generativelanguage.googleapis.com/v1beta',
    key_env: 'GEMINI_API_KEY',
  },
};

/** The model API that an agent uses; undefined: it has no model route. */
export function modelApiOf(
  agent: string,
  { acp, ...chosen }: { command: 'none' | ModelApi; opencode: ModelApi; acp: 'none' | ModelApi },
): ModelApi | undefined {
  const apis: Record<AgentId, 'none' | ModelApi> = {
    codex: 'openai',
    claude: 'anthropic',
    gemini: 'google',
    ...chosen,
  };
  const api = hasOwnAdapter(agent) ? apis[agent] : acp;
  return api === 'none' ? undefined : api;
}

interface ResolvedModel {
  /** The effective `model.name`, `model.base_url`, source of the key, and further keys. */
  settings: Setting[];
  problems: string[];
}

/**
 * Determines model, URL and key source. Only trusted layers decide where a key comes from and where it is sent; the
 * repository's file may only repeat that or name the provider's default.
 */
export function resolveModel(layers: readonly ConfigLayer[], api: ModelApi | undefined): ResolvedModel {
  const all = mergeSettings(layers);
  const own = mergeSettings(layers.filter(({ trusted }) => trusted));
  const kind = api ?? 'openai';
  const settings = [
    all.get('model.name') ?? preset('name', kind),
    find(own, ['base_url'], kind) ?? preset('base_url', kind),
    find(own, KEY_SOURCES, kind) ?? preset('key_env', kind),
    resolveFurtherKeys(own, kind),
  ];
  const foreign = layers.flatMap((layer) => (layer.trusted ? [] : layer.settings));
  return {
    settings,
    problems: [
      ...foreign
        .filter((setting) => isForeignChoice(setting, { all, own, settled: settings, kind }))
        .map(describeRefusedKey),
      ...layers.flatMap(findDoubles),
    ],
  };
}

/** A model, and where it is reached. */
export type OtherModel = ModelSource & { name: string };

/** The default model of another API than that of the run, for which `[model]` does not apply. */
export function resolveOtherModel(layers: readonly ConfigLayer[], api: ModelApi): OtherModel {
  const own = mergeSettings(layers.filter(({ trusted }) => trusted));
  const tables = [`providers.${api}`];
  const key = find(own, KEY_SOURCES, api, tables) ?? preset('key_env', api);
  const keys = (own.get(`providers.${api}.keys`)?.value ?? []) as Record<string, string>[];
  return {
    name: PRESETS[api].name,
    baseUrl: String((find(own, ['base_url'], api, tables) ?? preset('base_url', api)).value),
    ...toSource({ [key.key.slice('model.'.length)]: String(key.value) }),
    keys: keys.map(toSource),
  };
}

function toSource({ key_env, key_file, key_command }: Record<string, string>): KeySource {
  return defined({ keyEnv: key_env, keyFile: key_file, keyCommand: key_command });
}

/** `[model]` applies to any provider and takes precedence over `[providers.…]`. */
function find(
  from: Map<string, Setting>,
  parts: readonly string[],
  kind: ModelApi,
  tables: readonly string[] = ['model', `providers.${kind}`],
): Setting | undefined {
  for (const table of tables) {
    for (const part of parts) {
      const setting = from.get(`${table}.${part}`);
      if (setting !== undefined) return { ...setting, key: `model.${part}` };
    }
  }
  return undefined;
}

/** Those of `[providers.…]` belong to its key, so that a key in `[model]` replaces them. */
function resolveFurtherKeys(own: Map<string, Setting>, kind: ModelApi): Setting {
  const hasOwnKey = KEY_SOURCES.some((source) => own.has(`model.${source}`));
  const found = own.get('model.keys') ?? (hasOwnKey ? undefined : own.get(`providers.${kind}.keys`));
  return { key: 'model.keys', value: found?.value ?? [], origin: found?.origin ?? DEFAULT_ORIGIN };
}

function preset(part: keyof Preset, kind: ModelApi): Setting {
  return { key: `model.${part}`, value: PRESETS[kind][part], origin: DEFAULT_ORIGIN };
}

interface Known {
  all: Map<string, Setting>;
  own: Map<string, Setting>;
  settled: Setting[];
  kind: ModelApi;
}

const MAKERS: Record<string, ModelApi> = { 'gpt-': 'openai', 'claude-': 'anthropic', 'gemini-': 'google' };

/** Whether a model is one of another provider than that of `baseUrl`. Other servers may offer models of any maker. */
export function isForeignModel(name: string, { api, baseUrl }: { api: ModelApi; baseUrl: string }): boolean {
  const [, maker = api] = Object.entries(MAKERS).find(([start]) => name.startsWith(start)) ?? [];
  return maker !== api && isPresetUrl({ api, baseUrl });
}

/** Whether this is the provider's own address, which has no models of others. */
export function isPresetUrl({ api, baseUrl }: { api: ModelApi; baseUrl: string }): boolean {
  return PRESETS[api].base_url === baseUrl;
}

/** True if a setting of the repository would change where a key comes from or goes to. */
function isForeignChoice(setting: Setting, { all, own, settled, kind }: Known): boolean {
  const { key, value } = setting;
  if (trustOf(key).rule !== 'provider-key' || all.get(key) !== setting) return false;
  const part = key.slice(key.lastIndexOf('.') + 1);
  const provider = key.startsWith('model.') ? kind : (key.split('.')[1] as ModelApi);
  const same = [own.get(key)?.value, PRESETS[provider][part as keyof Preset]];
  if (key.startsWith('model.')) same.push(settled.find((each) => each.key === key)?.value);
  return !same.includes(value);
}

function describeRefusedKey({ key, origin }: Setting): string {
  return (
    `${origin}: ${key}: the file of a repository may not choose where a key comes from or goes to; ` +
    'set it in config.toml of HALO_HOME, as a variable or with -c'
  );
}

function findDoubles({ settings }: ConfigLayer): string[] {
  return PROVIDER_TABLES.flatMap((table) => {
    const found = settings.filter(({ key }) => KEY_SOURCES.some((source) => key === `${table}.${source}`));
    const keys = [...new Set(found.map(({ key }) => key))];
    const [, second] = found;
    return keys.length < 2 || second === undefined
      ? []
      : [`${second.origin}: only one of ${keys.join(', ')} can be set`];
  });
}
