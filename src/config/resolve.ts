import { HaloError } from '../core/failure/errors.ts';
import type { FleetLimits } from '../core/run/fleet-limit.ts';
import type { RetentionLimits } from '../core/retention/retention.ts';
import type { Config, ForgeSettings, McpRules, ServerRules } from './config.ts';
import type { EndpointSettings } from './endpoint-settings.ts';
import { findConflicts } from './cross-field-rules.ts';
import { mergeLayers, nestSettings } from './effective-settings.ts';
import { loadLayers, type ConfigSources } from './load/file-layers.ts';
import { HaloToml } from './schema/halo-toml.ts';
import { DEFAULT_ORIGIN, type Setting } from './settings.ts';
import { toConfig, toEndpoints, toFleet, toRetention, toServerRules } from './to-config.ts';
import { applyTrust, findTrustProblems } from './trust/trust.ts';

export interface ResolvedConfig {
  config: Config;
  fleet: FleetLimits;
  /** What retention keeps of ended runs. */
  keep: RetentionLimits;
  server: ServerRules;
  forges: ForgeSettings;
  mcp: McpRules;
  endpoints: readonly EndpointSettings[];
  /** Where traces are sent, if anywhere. */
  traces: { endpoint?: string | undefined; headersEnv?: string | undefined };
  /** The origin of each key, by dotted name. */
  origins: Record<string, string>;
  /** Each key with its value as written, in schema order. */
  settings: Setting[];
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
  const config = toConfig(toml, api);
  assertNone(findConflicts(config, (key) => origins[key] ?? DEFAULT_ORIGIN));
  return {
    config: deepFreeze(config),
    fleet: toFleet(toml),
    keep: toRetention(toml),
    server: toServerRules(toml),
    forges: toml.forge,
    mcp: toml.mcp,
    endpoints: toEndpoints(toml),
    traces: { endpoint: toml.traces.endpoint, headersEnv: toml.traces.headers_env },
    origins,
    settings,
    ignored: trusted.ignored,
  };
}

/** Parses the merged settings, which can violate limits that each source respects. Throws CONFIG_INVALID. */
function parseSettings(settings: readonly Setting[]): HaloToml {
  const { data, error } = HaloToml.safeParse(nestSettings(settings));
  if (data !== undefined) return data;
  const problems = error.issues.map(({ path, message }) => {
    const key = path.map(String).join('.');
    const origin = settings.find((setting) => setting.key === key || setting.key.startsWith(`${key}.`))?.origin;
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
