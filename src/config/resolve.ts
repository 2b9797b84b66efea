import { HaloError } from '../core/failure/errors.ts';
import { AGENT_IDS, hasOwnAdapter, type ModelApi } from '../core/agent.ts';
import { effortsOf } from '../core/agent-options.ts';
import { PROGRAM_IDS, type AgentVersions } from '../core/agent-program.ts';
import { findModel, knownModels, type ModelCatalog } from '../core/model/catalog.ts';
import type { Price } from '../core/price.ts';
import { defined } from '../lib/guards.ts';
import { toCamelCase } from './camel-case.ts';
import type { Config, ReviewerSettings, Settings } from './config.ts';
import { findConflicts } from './cross-field-rules.ts';
import { loadLayers, type ConfigSources } from './load/file-layers.ts';
import { HaloToml, HOST_TABLES, type HostTable } from './schema/halo-toml.ts';
import { DEFAULT_ORIGIN, type Setting } from './settings.ts';
import { toAgentOptions } from './to-agent-options.ts';
import { applyTrust, findTrustProblems, combineLayers, trustOf } from './trust/trust.ts';
import { allowing, findForeignChoices, foreignKeys } from './choice/allowed-choices.ts';
import { resolveChoices } from './choice/resolve-choices.ts';
import { KEY_SOURCES, mergeSettings, type ConfigLayer } from './config-layer.ts';
import { CONFIG_KEYS, OPEN_TABLES, openMemberOf } from './keys.ts';
import {
  isForeignModel,
  isPresetUrl,
  modelApiOf,
  resolveModel,
  resolveOtherModel,
  type OtherModel,
} from './resolve-model.ts';

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
  /** Sentences about choices of stories that the run cannot use. */
  unused: readonly string[];
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
  const models = knownModels(sources.models === 'unused' ? undefined : sources.models);
  const own = resolveLayers(trusted.layers, models, (merged) => assertNone(findTrustProblems(trusted, merged)));
  const { settings, all } = own;
  const origins = Object.fromEntries(settings.map(({ key, origin }) => [key, origin]));
  const named = {
    originOf: (key: string) => origins[key] ?? DEFAULT_ORIGIN,
    pricesOf: sources.models === 'unused' ? undefined : models.date,
  };
  assertNone(findConflicts(own.config, named));
  assertNone({ problems: findForeignChoices(trusted.layers, { settings, lists: all.choice }) });
  const { config, problems, unused } = resolveChoices(own.config, {
    stories: sources.stories ?? [],
    agents: [...AGENT_IDS, ...Object.keys(all.agents.acp)],
    isKnown: (model, agent) => isKnownModel(model, agent, { all, models }),
    isAllowed: allowing(all.choice, trusted.layers),
    isForeign: foreignKeys(trusted.layers),
    withAgent: (agent) => resolveLayers(withAgent(trusted.layers, agent), models).config,
    withModel: (config, model) => ({ ...config, ...factsOf(all, [model], models, config) }),
    conflictsOf: (config) => findConflicts(config, named).problems,
  });
  assertNone({ problems });
  return {
    ...pick(all, HOST_TABLES),
    config: deepFreeze(config),
    origins,
    settings,
    pricesOf: models.date,
    ignored: trusted.ignored,
    unused,
  };
}

/** Merges and parses layers. `check` receives the merged settings before they are parsed. */
function resolveLayers(
  layers: readonly ConfigLayer[],
  models: ModelCatalog,
  check?: (merged: EffectiveSettings) => void,
): { settings: Setting[]; all: Settings; config: Config } {
  const merged = mergeLayers(layers);
  check?.(merged);
  const { settings, api } = merged;
  const toml = parseSettings(settings);
  const all = toCamelCase(HaloToml, toml);
  return {
    settings,
    all,
    config: toConfig(all, { toml, api, models, otherModel: (of) => resolveOtherModel(layers, of) }),
  };
}

/** The layers of a run with another agent: what they say of `[model]` holds for agents with the same model API. */
function withAgent(layers: readonly ConfigLayer[], agent: string): ConfigLayer[] {
  const chosen: ConfigLayer = { settings: [{ key: 'agent', value: agent, origin: DEFAULT_ORIGIN }], trusted: true };
  const before = mergeLayers(layers).api;
  const { api } = mergeLayers([...layers, chosen]);
  const effort = mergeSettings(layers).get('model.effort')?.value;
  const keepsEffort = effortsOf(agent, api).some((each) => each === effort);
  const isKept = ({ key }: Setting) =>
    key === 'model.effort' ? keepsEffort : api === before || api === undefined || !OF_PROVIDER.includes(key);
  return [...layers.map((layer) => ({ ...layer, settings: layer.settings.filter(isKept) })), chosen];
}

/** The keys of `[model]` that hold for one provider. */
const OF_PROVIDER = ['name', 'fallback', 'allow', 'base_url', ...KEY_SOURCES, 'keys'].map((part) => `model.${part}`);

/** Whether a model is one that the agent of a configuration can use. */
function isKnownModel(name: string, config: Config, { all, models }: { all: Settings; models: ModelCatalog }): boolean {
  const { api, baseUrl, ...model } = config.model;
  if (api === undefined || isForeignModel(name, { api, baseUrl })) return false;
  if ([model.name, ...model.fallback, ...model.allow].includes(name) || Object.hasOwn(all.prices, name)) return true;
  const known = findModel(models, name);
  return known !== undefined && (known.api === api || !isPresetUrl({ api, baseUrl }));
}

interface Known {
  toml: HaloToml;
  /** The model API of the agent, if it has one. */
  api: ModelApi | undefined;
  models: ModelCatalog;
  /** The default model of another API. */
  otherModel: (api: ModelApi) => OtherModel;
}

/** Adds what follows from several settings. */
function toConfig(all: Settings, known: Known): Config {
  const { toml, api, models: catalog } = known;
  const { agents, model, review, ...others } = omit(all, [...HOST_TABLES, 'providers']);
  const acp = agents.acp[all.agent];
  const own = hasOwnAdapter(all.agent) ? agents[all.agent] : { answer: acp?.answer };
  const { name = '', baseUrl = '' } = model;
  const reviewers = review.when === 'never' ? [] : toReviewers(all, known);
  const reviewing = reviewers.flatMap((each) => (each.model.api === undefined ? [] : [each.model.name]));
  return {
    ...others,
    agentCommand: acp?.acp ?? agents.command.run,
    agentAnswer: ('answer' in own ? own.answer : undefined) ?? 'json',
    agentOptions: toAgentOptions(toml),
    agentVersions: defined(Object.fromEntries(PROGRAM_IDS.map((id) => [id, agents[id].version]))) as AgentVersions,
    model: { ...omit(model, ['effort']), api, name, baseUrl },
    review: { when: review.when, reviewers },
    otherAgents: {},
    storyChoices: {},
    ...factsOf(all, [name, ...model.fallback, ...model.allow, ...reviewing], catalog),
  };
}

/** Prices and rates of models, added to those of `known`. */
function factsOf(
  all: Settings,
  models: readonly string[],
  catalog: ModelCatalog,
  known: Pick<Config, 'prices' | 'rate'> = { prices: {}, rate: {} },
): Pick<Config, 'prices' | 'rate'> {
  const names = [...new Set(models)];
  const prices = Object.fromEntries(names.flatMap((each) => pricesOf(all, each, catalog)));
  return { prices: { ...known.prices, ...prices }, rate: { ...known.rate, ...pick(all.rate, names) } };
}

/** Agents with an API of their own, in the order in which they are preferred as reviewers. */
const VENDORS = ['claude', 'codex', 'gemini'];

/** The agents that may review, the best first: of other vendors, unless one is chosen. */
function toReviewers(all: Settings, { api, otherModel }: Known): ReviewerSettings[] {
  const { agent, agents, model, review } = all;
  const apiOf = (name: string) =>
    modelApiOf(name, {
      acp: agents.acp[name]?.model ?? 'openai',
      command: agents.command.model,
      opencode: agents.opencode.model,
    });
  const others = VENDORS.filter((name) => apiOf(name) !== api);
  const names = review.agent === undefined ? [...others, ...(api === undefined ? [] : [agent])] : [review.agent];
  const { keyEnv, keyFile, keyCommand, keys } = model;
  const own = {
    name: model.name ?? '',
    baseUrl: model.baseUrl ?? '',
    ...defined({ keyEnv, keyFile, keyCommand }),
    keys,
  };
  return names.map((name) => {
    const of = apiOf(name);
    const found = of === undefined || of === api ? own : otherModel(of);
    return {
      agent: name,
      agentCommand: agents.acp[name]?.acp ?? (name === 'command' ? agents.command.run : undefined),
      model: { ...found, name: review.model ?? found.name, api: of },
    };
  });
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
