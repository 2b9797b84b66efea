import { HaloError } from '../core/failure/errors.ts';
import { hasOwnAdapter, type ModelApi } from '../core/agent.ts';
import { findModel, knownModels, type ModelCatalog } from '../core/model/catalog.ts';
import type { Price } from '../core/price.ts';
import { toCamelCase } from './camel-case.ts';
import type { Config, Settings } from './config.ts';
import { findConflicts } from './cross-field-rules.ts';
import { loadLayers, type ConfigSources } from './load/file-layers.ts';
import { HaloToml, HOST_TABLES, type HostTable } from './schema/halo-toml.ts';
import { DEFAULT_ORIGIN, type Setting } from './settings.ts';
import { toAgentOptions } from './to-agent-options.ts';
import { applyTrust, findTrustProblems, combineLayers, trustOf } from './trust/trust.ts';
import { mergeSettings, type ConfigLayer } from './config-layer.ts';
import { CONFIG_KEYS, OPEN_TABLES, openMemberOf } from './keys.ts';
import { modelApiOf, resolveModel } from './resolve-model.ts';

export interface ResolvedConfig extends Pick<Settings, HostTable> {
  config: Config;
  /** The origin of each key, by dotted name. */
  origins: Record<string, string>;
  /** Each key with its value as written, in schema order. */
  settings: Setting[];
  /** The day of the prices of models that are known. */
  pricesOf: string;
  /** Settings of the repository that do not count, because the request lacks the right that they need. */
  ignored: readonly Setting[];
}

/** What a step found wrong: one line per problem, and a hint if the usual one does not fit. */
interface Findings {
  problems: readonly string[];
  hint?: string | undefined;
}

/**
 * Resolves the configuration: load → apply trust → merge → parse → check rules between keys → freeze. Later sources take
 * precedence: defaults, home, repository, profile, environment, `-c`. Tables are merged, lists are replaced.
 * Throws CONFIG_INVALID with the origin of each problem, and USAGE for a malformed `-c`.
 */
export function resolveConfig(sources: ConfigSources): ResolvedConfig {
  const loaded = loadLayers(sources);
  assertNone(loaded);
  const trusted = applyTrust(loaded);
  const merged = mergeLayers(trusted.layers);
  assertNone(findTrustProblems(trusted, merged));
  const { settings, api } = merged;
  const toml = parseSettings(settings);
  const origins = Object.fromEntries(settings.map(({ key, origin }) => [key, origin]));
  const all = toCamelCase(HaloToml, toml);
  const usesPrices = sources.models !== 'unused';
  const models = knownModels(sources.models === 'unused' ? undefined : sources.models);
  const config = toConfig(all, { toml, api, models });
  const pricesOf = usesPrices ? models.date : undefined;
  assertNone(findConflicts(config, { originOf: (key) => origins[key] ?? DEFAULT_ORIGIN, pricesOf }));
  return {
    ...pick(all, HOST_TABLES),
    config: deepFreeze(config),
    origins,
    settings,
    pricesOf: models.date,
    ignored: trusted.ignored,
  };
}

interface Known {
  toml: HaloToml;
  /** The model API of the agent, if it has one. */
  api: ModelApi | undefined;
  models: ModelCatalog;
}

/** Adds what follows from several settings. */
function toConfig(all: Settings, { toml, api, models: catalog }: Known): Config {
  const { agents, model, ...others } = omit(all, [...HOST_TABLES, 'providers']);
  const acp = agents.acp[all.agent];
  const own = hasOwnAdapter(all.agent) ? agents[all.agent] : { answer: acp?.answer };
  const { name = '', baseUrl = '' } = model;
  const models = [...new Set([name, ...model.fallback, ...model.allow])];
  return {
    ...others,
    agentCommand: acp?.acp ?? agents.command.run,
    agentAnswer: ('answer' in own ? own.answer : undefined) ?? 'json',
    agentOptions: toAgentOptions(toml),
    model: { ...omit(model, ['effort']), api, name, baseUrl },
    prices: Object.fromEntries(models.flatMap((each) => pricesOf(all, each, catalog))),
    rate: pick(all.rate, models),
  };
}

function pricesOf({ prices }: Settings, model: string, catalog: ModelCatalog): [string, Price][] {
  const own = Object.hasOwn(prices, model) ? prices[model] : undefined;
  const known = findModel(catalog, model)?.price;
  if (own === undefined) return known === undefined ? [] : [[model, known]];
  const { input, cached = input, cacheWrite = input, output } = own;
  return [[model, { input, cached, cacheWrite, output }]];
}

function omit<T extends object, K extends keyof T>(value: T, keys: readonly K[]): Omit<T, K> {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key as K))) as Omit<T, K>;
}

function pick<T extends object, K extends keyof T>(value: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(Object.entries(value).filter(([key]) => keys.includes(key as K))) as Pick<T, K>;
}

/** Parses the merged settings, which can violate limits that each source respects. Throws CONFIG_INVALID. */
function parseSettings(settings: readonly Setting[]): HaloToml {
  // zod would compile a function for each table, which takes longer than to parse the few settings of one run.
  const { data, error } = HaloToml.safeParse(nestSettings(settings), { jitless: true });
  if (data !== undefined) return data;
  const problems = error.issues.map(({ path, message }) => {
    const key = path.map(String).join('.');
    // The key of a table with names of users is that of a whole member, such as `services.db`.
    const isAbout = (of: string) => of === key || of.startsWith(`${key}.`) || key.startsWith(`${of}.`);
    const origin = settings.find((setting) => isAbout(setting.key))?.origin;
    return `${origin ?? DEFAULT_ORIGIN}: ${key}: ${message}`;
  });
  throw invalid({ problems });
}

/** Throws CONFIG_INVALID if a step found problems. */
function assertNone(findings: Findings): void {
  if (findings.problems.length > 0) throw invalid(findings);
}

function invalid({ problems, hint = INVALID_HINT }: Findings): HaloError {
  return new HaloError('CONFIG_INVALID', problems.join('\n'), { hint });
}

const INVALID_HINT = 'Fix these settings; docs/configuration.md lists every key.';

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  Object.values(value).forEach((member: unknown) => deepFreeze(member));
  return Object.freeze(value);
}

/** The setting of each key that is in effect, and what follows from the choice of the agent. */
interface EffectiveSettings {
  /** In schema order; unset keys have their default. */
  settings: Setting[];
  /** The model API of the agent; undefined: it has no model route. */
  api: ModelApi | undefined;
  problems: string[];
}

/** Merges layers: the last setting of each key, the provider of the agent, and the keys that combine several layers. */
function mergeLayers(layers: readonly ConfigLayer[]): EffectiveSettings {
  const last = lastSettings(layers);
  const valueOf = (key: string) => last.find((setting) => setting.key === key)?.value;
  // Each layer has checked the values of its keys.
  const agent = String(valueOf('agent'));
  const acp = valueOf(`agents.acp.${agent}`) as { model?: 'none' | ModelApi } | undefined;
  const api = modelApiOf(agent, {
    acp: acp?.model ?? 'openai',
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
function nestSettings(settings: readonly Setting[]): Record<string, unknown> {
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
