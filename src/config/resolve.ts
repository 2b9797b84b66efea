import { HaloError } from '../core/failure/errors.ts';
import type { FleetLimits } from '../core/run/fleet-limit.ts';
import type { RetentionLimits } from '../core/retention/retention.ts';
import type { Config, ForgeSettings, McpRules, ServerRules } from './config.ts';
import { CONFIG_KEYS, OPEN_TABLES, openMemberOf } from './keys.ts';
import { mergeSettings, type ConfigLayer } from './config-layer.ts';
import { loadLayers, type ConfigSources } from './load/file-layers.ts';
import { modelApiOf, resolveModel } from './resolve-model.ts';
import { HaloToml } from './schema/halo-toml.ts';
import { DEFAULT_ORIGIN, type Setting } from './settings.ts';
import { toConfig, toFleet, toRetention } from './to-config.ts';
import {
  combineLayers,
  dropLooserSettings,
  findForeignImages,
  findForeignSettings,
  findLooserRequests,
  findMisplacedSettings,
  trustOf,
} from './trust/trust.ts';
import { effortsOf } from '../core/agent-options.ts';
import { BUDGET_SCOPES } from '../core/budget.ts';
import { PRICES_AS_OF } from '../core/price.ts';

export interface ResolvedConfig {
  config: Config;
  fleet: FleetLimits;
  /** What retention keeps of ended runs. */
  keep: RetentionLimits;
  server: ServerRules;
  forges: ForgeSettings;
  mcp: McpRules;
  /** The origin of each key, by dotted name. */
  origins: Record<string, string>;
  /** Each key with its value as written, in schema order. */
  settings: Setting[];
}

/**
 * Resolves the configuration: load → apply trust → merge → parse → check rules between keys → freeze. Later sources take
 * precedence: defaults, home, repository, profile, environment, `-c`. Tables are merged, lists are replaced.
 * Throws CONFIG_INVALID with the origin of each problem, and USAGE for a malformed `-c`.
 */
export function resolveConfig(sources: ConfigSources): ResolvedConfig {
  const loaded = loadLayers(sources);
  assertNoProblems(loaded.problems);
  const standing = dropLooserSettings(loaded.standing);
  const layers = [...standing, loaded.options];
  const merged = mergeLayers(layers);
  const parsed = parseSettings(merged);
  const api = modelApiOf(parsed.agent, {
    command: parsed.agents.command.model,
    opencode: parsed.agents.opencode.model,
  });
  const model = resolveModel(layers, api);
  const base = sources.home === undefined ? undefined : layers[0];
  const foreign = [
    ...model.problems,
    ...findForeignSettings(layers),
    ...findForeignImages(layers),
    ...findMisplacedSettings(layers, base),
  ];
  const requested = sources.remote === true ? loaded.options.settings : [];
  const looser = findLooserRequests(requested, { layers: standing, free: parsed.server.options });
  if (foreign.length === 0) assertNoProblems(looser, REQUEST_HINT);
  assertNoProblems([...foreign, ...looser]);
  const settings = merged
    .map((setting) => model.settings.find(({ key }) => key === setting.key) ?? clearUnused(setting))
    .map((setting) => combineLayers(setting, layers));
  const origins = Object.fromEntries(settings.map(({ key, origin }) => [key, origin]));
  const toml = parseSettings(settings);
  const config = toConfig(toml, api);
  const conflicts = findConflicts(config, origins);
  const lacksCommand = conflicts.length === 1 && config.agent === 'command' && config.agentCommand === undefined;
  assertNoProblems(conflicts, lacksCommand ? COMMAND_HINT : undefined);
  return {
    config: deepFreeze(config),
    fleet: toFleet(toml),
    keep: toRetention(toml),
    server: toml.server,
    forges: toml.forge,
    mcp: toml.mcp,
    origins,
    settings,
  };
}

const REQUEST_HINT = 'Run the command on the server, with HALO_URL unset, or add these keys to [server] options there.';

/** Parses the merged settings, which can violate limits that each source respects. Throws CONFIG_INVALID. */
function parseSettings(settings: readonly Setting[]): HaloToml {
  const { data, error } = HaloToml.safeParse(nest(settings));
  if (data !== undefined) return data;
  const problems = error.issues.map(({ path, message }) => {
    const key = path.map(String).join('.');
    const origin = settings.find((setting) => setting.key === key || setting.key.startsWith(`${key}.`))?.origin;
    return `${origin ?? DEFAULT_ORIGIN}: ${key}: ${message}`;
  });
  throw invalid(problems);
}

/** Clears the provider settings that `resolveModel` did not choose. */
function clearUnused(setting: Setting): Setting {
  const isUnused = setting.key.startsWith('model.') && trustOf(setting.key).rule === 'provider-key';
  return isUnused ? { key: setting.key, value: undefined, origin: DEFAULT_ORIGIN } : setting;
}

/** Returns the last setting of each key in schema order; unset keys get their default. */
function mergeLayers(layers: readonly ConfigLayer[]): Setting[] {
  const last = mergeSettings(layers);
  return [...CONFIG_KEYS.values()].flatMap(({ name, default: value }) => {
    if (!OPEN_TABLES.includes(name)) return [last.get(name) ?? { key: name, value, origin: DEFAULT_ORIGIN }];
    return [...last.values()].filter(({ key }) => openMemberOf(key)?.table === name);
  });
}

/** Converts dotted keys to nested tables, for the schema. */
function nest(settings: readonly Setting[]): Record<string, unknown> {
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

/** Throws CONFIG_INVALID with one line per problem, if there is any. */
function assertNoProblems(problems: readonly string[], hint?: string): void {
  if (problems.length > 0) throw invalid(problems, hint);
}

function invalid(problems: readonly string[], hint = INVALID_HINT): HaloError {
  return new HaloError('CONFIG_INVALID', problems.join('\n'), { hint });
}

const COMMAND_HINT =
  'Add [agents.command] run = "./tools/agent.sh" (docs/agents.md, "A command of your own"), or choose another agent.';

const INVALID_HINT = 'Fix these settings; docs/configuration.md lists every key.';

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  Object.values(value).forEach((member: unknown) => deepFreeze(member));
  return Object.freeze(value);
}

/** Checks the rules between keys; returns one line per violated rule. */
function findConflicts(config: Config, origins: Record<string, string>): string[] {
  const at = (key: string) => origins[key] ?? DEFAULT_ORIGIN;
  const conflicts: string[] = [];
  if (config.agent === 'command' && config.agentCommand === undefined) {
    conflicts.push(`${at('agent')}: agent: "command" requires agents.command.run`);
  }
  const effort = findEffortConflict(config);
  if (effort !== undefined) conflicts.push(`${at('model.effort')}: model.effort: ${effort}`);
  if (config.model.mode === 'replay' && config.model.api !== undefined && config.model.cassettes === undefined) {
    conflicts.push(`${at('model.mode')}: model.mode: "replay" requires model.cassettes, the folder of the cassettes`);
  }
  if (config.tests.first !== 'off' && config.tests.command === undefined) {
    conflicts.push(
      `${at('tests.first')}: tests.first: "${config.tests.first}" requires tests.command, the command that runs the tests of a story`,
    );
  }
  if (config.git.sign === 'ssh' && config.git.signingKey === undefined) {
    conflicts.push(`${at('git.sign')}: git.sign: "ssh" requires git.signing_key`);
  }
  if (config.retry.maxBackoffMs < config.retry.backoffMs) {
    conflicts.push(
      `${at('retry.backoff')}: retry.backoff: must not be longer than retry.max_backoff (${at('retry.max_backoff')})`,
    );
  }
  return [...conflicts, ...findMissingPrices(config, at)];
}

/** An effort that the agent's program cannot request. */
function findEffortConflict({ agent, agentOptions: { effort }, model }: Config): string | undefined {
  const known = effortsOf(agent, model.api);
  if (effort === undefined || known.includes(effort)) return undefined;
  if (known.length === 0) return `the agent "${agent}" has no such setting; put it into agents.${agent}.run`;
  const choices = known.map((each) => `"${each}"`).join(', ');
  return `the agent "${agent}" cannot request "${effort}"; use one of ${choices}`;
}

/** A cost limit cannot be enforced for a model without a price. */
function findMissingPrices({ model, budget, prices }: Config, originOf: (key: string) => string): string[] {
  if (model.api === undefined || model.mode === 'replay') return [];
  const scope = BUDGET_SCOPES.find((each) => budget[each].usd !== undefined);
  if (scope === undefined) return [];
  return [model.name, ...model.allow]
    .filter((name) => !Object.hasOwn(prices, name))
    .map(
      (name) =>
        `${originOf(`budget.${scope}_usd`)}: budget.${scope}_usd: halo does not know what the model "${name}" costs ` +
        `(its prices are of ${PRICES_AS_OF}); add [prices."${name}"] with input and output, in USD per million ` +
        'tokens, to config.toml of HALO_HOME',
    );
}
