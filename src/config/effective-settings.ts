import type { AgentId, ModelApi } from '../core/agent.ts';
import { mergeSettings, type ConfigLayer } from './config-layer.ts';
import { CONFIG_KEYS, OPEN_TABLES, openMemberOf } from './keys.ts';
import { modelApiOf, resolveModel } from './resolve-model.ts';
import { DEFAULT_ORIGIN, type Setting } from './settings.ts';
import { combineLayers, trustOf } from './trust/trust.ts';

/** The setting of each key that is in effect, and what follows from the choice of the agent. */
interface EffectiveSettings {
  /** In schema order; unset keys have their default. */
  settings: Setting[];
  /** The model API of the agent; undefined: it has no model route. */
  api: ModelApi | undefined;
  problems: string[];
}

/** Merges layers: the last setting of each key, the provider of the agent, and the keys that combine several layers. */
export function mergeLayers(layers: readonly ConfigLayer[]): EffectiveSettings {
  const last = lastSettings(layers);
  const valueOf = (key: string) => last.find((setting) => setting.key === key)?.value;
  // Each layer has checked the values of its keys.
  const api = modelApiOf(valueOf('agent') as AgentId, {
    command: valueOf('agents.command.model') as 'none' | ModelApi,
    opencode: valueOf('agents.opencode.model') as ModelApi,
  });
  const model = resolveModel(layers, api);
  const settings = last
    .map((setting) => model.settings.find(({ key }) => key === setting.key) ?? clearUnused(setting))
    .map((setting) => combineLayers(setting, layers));
  return { settings, api, problems: model.problems };
}

/** Returns the last setting of each key in schema order; unset keys get their default. */
function lastSettings(layers: readonly ConfigLayer[]): Setting[] {
  const last = mergeSettings(layers);
  return [...CONFIG_KEYS.values()].flatMap(({ name, default: value }) => {
    if (!OPEN_TABLES.includes(name)) return [last.get(name) ?? { key: name, value, origin: DEFAULT_ORIGIN }];
    return [...last.values()].filter(({ key }) => openMemberOf(key)?.table === name);
  });
}

/** Clears the provider settings that `resolveModel` did not choose. */
function clearUnused(setting: Setting): Setting {
  const isUnused = setting.key.startsWith('model.') && trustOf(setting.key).rule === 'provider-key';
  return isUnused ? { key: setting.key, value: undefined, origin: DEFAULT_ORIGIN } : setting;
}

/** Converts dotted keys to nested tables, for the schema. */
export function nestSettings(settings: readonly Setting[]): Record<string, unknown> {
  const root: Record<string, unknown> = {};
  const tableAt = (path: readonly string[]) =>
    path.reduce((table, part) => (table[part] ??= {}) as Record<string, unknown>, root);
  for (const table of OPEN_TABLES) tableAt(table.split('.'));
  for (const { key, value } of settings) {
    const { table, member } = openMemberOf(key) ?? {};
    const path = (table ?? key).split('.');
    tableAt(member === undefined ? path.slice(0, -1) : path)[member ?? path.at(-1) ?? key] = value;
  }
  return root;
}
