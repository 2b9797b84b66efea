import type { AgentId } from '../core/agent.ts';
import type { ModelApi } from '../core/model-api.ts';
import type { Setting } from './settings.ts';

/** What one source sets; `trusted` is false for the file of the repository, which others write. */
export interface Layer {
  settings: readonly Setting[];
  trusted: boolean;
}

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

const KEY_SOURCES = ['key_env', 'key_file', 'key_command'] as const;
const TABLES = ['model', 'providers.openai', 'providers.anthropic', 'providers.google'] as const;

/** Settings that decide who gets to see a key of the user's. */
export const GUARDED: readonly string[] = TABLES.flatMap((table) =>
  ['base_url', ...KEY_SOURCES].map((part) => `${table}.${part}`),
);

/** The kind of provider that an agent talks to; undefined: it has no model route. */
export function apiOf(
  agent: AgentId,
  chosen: { command: 'none' | ModelApi; opencode: ModelApi },
): ModelApi | undefined {
  switch (agent) {
    case 'codex':
      return 'openai';
    case 'claude':
      return 'anthropic';
    case 'gemini':
      return 'google';
    case 'opencode':
      return chosen.opencode;
    case 'command':
      return chosen.command === 'none' ? undefined : chosen.command;
  }
}

/** The last setting of each key. Of the three sources of a key, a later layer's one replaces an earlier layer's other. */
export function mergeSettings(layers: readonly Layer[]): Map<string, Setting> {
  const last = new Map<string, Setting>();
  for (const { settings } of layers) {
    for (const table of TABLES) {
      const group = KEY_SOURCES.map((source) => `${table}.${source}`);
      if (settings.some(({ key }) => group.includes(key))) group.forEach((key) => last.delete(key));
    }
    for (const setting of settings) last.set(setting.key, setting);
  }
  return last;
}

export interface SettledModel {
  /** `model.name`, `model.base_url` and the one source of the key, in force. */
  settings: Setting[];
  problems: string[];
}

/**
 * Settles which model is asked where and with which key. Where a key is taken from and where it goes is decided by the
 * user's own sources alone: the repository's file may repeat it, or name the provider's default, but not choose.
 */
export function settleModel(layers: readonly Layer[], api: ModelApi | undefined): SettledModel {
  const all = mergeSettings(layers);
  const own = mergeSettings(layers.filter(({ trusted }) => trusted));
  const kind = api ?? 'openai';
  const settings = [
    all.get('model.name') ?? preset('name', kind),
    find(own, ['base_url'], kind) ?? preset('base_url', kind),
    find(own, KEY_SOURCES, kind) ?? preset('key_env', kind),
  ];
  const foreign = layers.flatMap((layer) => (layer.trusted ? [] : layer.settings));
  return {
    settings,
    problems: [
      ...foreign.filter((setting) => isForeignChoice(setting, { all, own, settled: settings, kind })).map(refuse),
      ...layers.flatMap(findDoubles),
    ],
  };
}

/** `[model]` says it for whatever provider is used, `[providers.…]` for the one. */
function find(from: Map<string, Setting>, parts: readonly string[], kind: ModelApi): Setting | undefined {
  for (const table of ['model', `providers.${kind}`]) {
    for (const part of parts) {
      const setting = from.get(`${table}.${part}`);
      if (setting !== undefined) return { ...setting, key: `model.${part}` };
    }
  }
  return undefined;
}

function preset(part: keyof Preset, kind: ModelApi): Setting {
  return { key: `model.${part}`, value: PRESETS[kind][part], origin: 'default' };
}

interface Known {
  all: Map<string, Setting>;
  own: Map<string, Setting>;
  settled: Setting[];
  kind: ModelApi;
}

/** Whether a setting of the repository would decide something that is not its to decide. */
function isForeignChoice(setting: Setting, { all, own, settled, kind }: Known): boolean {
  const { key, value } = setting;
  if (!GUARDED.includes(key) || all.get(key) !== setting) return false;
  const part = key.slice(key.lastIndexOf('.') + 1);
  const provider = key.startsWith('model.') ? kind : (key.split('.')[1] as ModelApi);
  const same = [own.get(key)?.value, PRESETS[provider][part as keyof Preset]];
  if (key.startsWith('model.')) same.push(settled.find((each) => each.key === key)?.value);
  return !same.includes(value);
}

function refuse({ key, origin }: Setting): string {
  return (
    `${origin}: ${key}: the file of a repository may not choose where a key comes from or goes to; ` +
    'set it in config.toml of HALO_HOME, as a variable or with -c'
  );
}

function findDoubles({ settings }: Layer): string[] {
  return TABLES.flatMap((table) => {
    const found = settings.filter(({ key }) => KEY_SOURCES.some((source) => key === `${table}.${source}`));
    const keys = [...new Set(found.map(({ key }) => key))];
    const [, second] = found;
    return keys.length < 2 || second === undefined
      ? []
      : [`${second.origin}: only one of ${keys.join(', ')} can be set`];
  });
}
