import { HaloError } from '../core/failure/errors.ts';
import type { ModelApi } from '../core/model-api.ts';
import { findNearest } from '../lib/text.ts';
import type { Config, FleetLimits, ServerRules } from './config.ts';
import { refuseMisplacedFleet, toFleet } from './fleet.ts';
import { capByRepository, findUnpriced, toSpending } from './budget.ts';
import { CONFIG_KEYS, OPEN_TABLES, openMemberOf } from './keys.ts';
import { apiOf, GUARDED, mergeSettings, settleModel, type Layer } from './resolve-model.ts';
import { readFileLayers, readOptions, readVariables, type FileLayers } from './load/file-layers.ts';
import type { ConfigFile } from './load/config-file.ts';
import { refuseForeignImage } from './images.ts';
import { keepOwnProtection, withoutLessCare } from './no-less-care.ts';
import { toBreakerPolicy, toRetryPolicy } from './failure-policy.ts';
import { refuseRequested } from './requested.ts';
import { HaloToml } from './schema.ts';
import { refuseForeignChoices } from './own-choices.ts';
import type { Setting } from './settings.ts';

/** Everything that may set a key. */
export interface ConfigSources {
  /** `<HALO_HOME>/config.toml` */
  home?: ConfigFile | undefined;
  /** The file of the repository. */
  repo?: ConfigFile | undefined;
  /** `--profile`; HALO_PROFILE stands in for it. */
  profile?: string | undefined;
  env?: Record<string, string | undefined>;
  /** `-c key=value` options, in order. */
  set?: string[];
  /** The `-c` options come from another machine. */
  remote?: boolean;
  /** Absolute; where relative paths of variables and options start. */
  cwd: string;
}

export interface ResolvedConfig {
  config: Config;
  fleet: FleetLimits;
  server: ServerRules;
  /** Who set each key, by its dotted name. */
  origins: Record<string, string>;
  /** Each key with its value as written, in the order of the schema. */
  settings: Setting[];
}

/** Who set a key that nobody has set. */
export const DEFAULT_ORIGIN = 'default';

/**
 * Puts all sources together, later ones win: defaults, home, repository, profile, environment, `-c`.
 * Tables merge, lists replace. Throws CONFIG_INVALID, which names each problem with its place, and USAGE for a bad `-c`.
 */
export function resolveConfig(sources: ConfigSources): ResolvedConfig {
  const { home, repo, profile, env = {}, set = [], remote = false, cwd } = sources;
  const problems: string[] = [];
  const files = [home, repo].flatMap((file) =>
    file ? [{ ...readFileLayers(file, problems), trusted: file !== repo }] : [],
  );
  const own = (settings: Setting[]): Layer => ({ settings, trusted: true });
  const options = own(readOptions(set, cwd, problems));
  const standing = withoutLessCare([
    ...files.map(({ base, trusted }) => ({ settings: base, trusted })),
    ...pickProfile(files, profile ?? env.HALO_PROFILE),
    own(readVariables(env, cwd, problems)),
  ]);
  const layers = [...standing, options];
  if (problems.length > 0) throw invalid(problems);
  const merged = mergeLayers(layers);
  const { agent, agents, server } = check(merged);
  const api = apiOf(agent, { command: agents.command.model, opencode: agents.opencode.model });
  const settled = settleModel(layers, api);
  const hosts = home === undefined ? undefined : layers[0];
  const foreign = [
    ...settled.problems,
    ...refuseForeignChoices(layers),
    ...refuseForeignImage(layers),
    ...refuseMisplacedFleet(layers, hosts),
    ...(remote ? refuseRequested(options.settings, { layers: standing, free: server.options }) : []),
  ];
  if (foreign.length > 0) throw invalid(foreign);
  const settings = merged
    .map((setting) => settled.settings.find(({ key }) => key === setting.key) ?? unset(setting))
    .map((setting) => keepOwnProtection(capByRepository(setting, layers), layers));
  const origins = Object.fromEntries(settings.map(({ key, origin }) => [key, origin]));
  const toml = check(settings);
  const config = toConfig(toml, api);
  const conflicts = findConflicts(config, origins);
  if (conflicts.length > 0) throw invalid(conflicts);
  return { config: deepFreeze(config), fleet: toFleet(toml), server, origins, settings };
}

/** Settings of several sources can be too many together where those of each are not. Throws CONFIG_INVALID. */
function check(settings: readonly Setting[]): HaloToml {
  const { data, error } = HaloToml.safeParse(nest(settings));
  if (data !== undefined) return data;
  const problems = error.issues.map(({ path, message }) => {
    const key = path.map(String).join('.');
    const origin = settings.find((setting) => setting.key === key || setting.key.startsWith(`${key}.`))?.origin;
    return `${origin ?? DEFAULT_ORIGIN}: ${key}: ${message}`;
  });
  throw invalid(problems);
}

/** What was settled otherwise, by a more special setting or by the user against the repository, is not in force. */
function unset(setting: Setting): Setting {
  const overruled = setting.key.startsWith('model.') && GUARDED.includes(setting.key);
  return overruled ? { key: setting.key, value: undefined, origin: DEFAULT_ORIGIN } : setting;
}

function pickProfile(files: (FileLayers & { trusted: boolean })[], name: string | undefined): Layer[] {
  if (name === undefined || name === '') return [];
  const chosen = files.map(({ profiles, trusted }) => ({ settings: profiles.get(name) ?? [], trusted }));
  if (files.some(({ profiles }) => profiles.has(name))) return chosen;
  const known = [...new Set(files.flatMap(({ profiles }) => [...profiles.keys()]))];
  const meant = findNearest(name, known);
  throw new HaloError('CONFIG_INVALID', `There is no profile "${name}"${meant ? `; did you mean "${meant}"?` : ''}`, {
    hint: known.length === 0 ? 'No file defines a profile.' : `Profiles that exist: ${known.join(', ')}.`,
  });
}

/** The last setting of each key, in the order of the schema; keys that nothing sets have their default. */
function mergeLayers(layers: readonly Layer[]): Setting[] {
  const last = mergeSettings(layers);
  return [...CONFIG_KEYS.values()].flatMap(({ name, default: value }) => {
    if (!OPEN_TABLES.includes(name)) return [last.get(name) ?? { key: name, value, origin: DEFAULT_ORIGIN }];
    return [...last.values()].filter(({ key }) => openMemberOf(key)?.table === name);
  });
}

/** Dotted keys as nested tables, for the schema. */
function nest(settings: readonly Setting[]): Record<string, unknown> {
  const root: Record<string, unknown> = Object.fromEntries(OPEN_TABLES.map((table) => [table, {}]));
  for (const { key, value } of settings) {
    const open = openMemberOf(key);
    const parts = open === undefined ? key.split('.') : [open.table, open.member];
    const last = parts.pop() ?? key;
    let table = root;
    for (const part of parts) table = (table[part] ??= {}) as Record<string, unknown>;
    table[last] = value;
  }
  return root;
}

function toConfig(toml: HaloToml, api: ModelApi | undefined): Config {
  const {
    agent,
    agents,
    setup,
    gates,
    image,
    env,
    model,
    limits,
    sandbox,
    network,
    secrets,
    tests,
    run,
    retry,
    prd,
    approval,
    land,
    git,
    workspace,
  } = toml;
  return {
    agent,
    agentCommand: agents.command.run,
    setup,
    gates,
    image,
    env,
    model: {
      api,
      name: model.name ?? '',
      allow: model.allow,
      baseUrl: model.base_url ?? '',
      keyEnv: model.key_env,
      keyFile: model.key_file,
      keyCommand: model.key_command,
      mode: model.mode,
      cassettes: model.cassettes,
      timing: model.timing,
    },
    ...toSpending(toml),
    limits: {
      cpus: limits.cpus,
      memoryBytes: limits.memory,
      pids: limits.pids,
      files: limits.files,
      fileBytes: limits.file_size,
      diskBytes: limits.disk,
      freeDiskBytes: limits.free_disk,
      wallMs: limits.wall,
      idleMs: limits.idle,
      outputBytes: limits.output,
    },
    sandbox,
    network: {
      allow: network.allow,
      channel: network.channel,
      mayBePrivate: network.private,
      registries: network.registries,
      agentRegistries: network.agent_registries,
      registryHosts: network.registry_hosts,
      upstreams: network.upstreams,
      caFile: network.ca_file,
    },
    secrets,
    tests,
    run: { parallel: run.parallel, onFailure: run.on_failure },
    retry: toRetryPolicy(retry),
    breaker: toBreakerPolicy(toml.breaker),
    prd: { writeBack: prd.write_back },
    approval,
    land: {
      mode: land.mode,
      push: land.push,
      unchanged: land.unchanged,
      hiddenCharacters: land.hidden_characters,
      protect: land.protect,
    },
    git: {
      authorName: git.author.name,
      authorEmail: git.author.email,
      message: git.message,
      sign: git.sign,
      signingKey: git.signing_key,
      allowedSigners: git.allowed_signers,
    },
    workspace,
  };
}

/** Rules between keys. */
function findConflicts(config: Config, origins: Record<string, string>): string[] {
  const at = (key: string) => origins[key] ?? DEFAULT_ORIGIN;
  const conflicts: string[] = [];
  if (config.agent === 'command' && config.agentCommand === undefined) {
    conflicts.push(`${at('agent')}: agent: "command" needs agents.command.run, the command line to start`);
  }
  if (config.model.mode === 'replay' && config.model.api !== undefined && config.model.cassettes === undefined) {
    conflicts.push(`${at('model.mode')}: model.mode: "replay" needs model.cassettes, the folder to replay from`);
  }
  if (config.git.sign === 'ssh' && config.git.signingKey === undefined) {
    conflicts.push(`${at('git.sign')}: git.sign: "ssh" needs git.signing_key, the path of the key`);
  }
  if (config.retry.maxBackoffMs < config.retry.backoffMs) {
    conflicts.push(
      `${at('retry.backoff')}: retry.backoff: must not be longer than retry.max_backoff (${at('retry.max_backoff')})`,
    );
  }
  return [...conflicts, ...findUnpriced(config, at)];
}

function invalid(problems: string[]): HaloError {
  return new HaloError('CONFIG_INVALID', problems.join('\n'), {
    hint: 'Mend these settings; docs/configuration.md lists every key.',
  });
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  Object.values(value).forEach((member: unknown) => deepFreeze(member));
  return Object.freeze(value);
}
