import { dirname } from 'node:path';
import type { Right } from '../../core/access/access.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { Story } from '../../core/prd/prd.ts';
import type { ModelCatalog } from '../../core/model/catalog.ts';
import { truncate } from '../../core/text/safe-text.ts';
import { closeSentence, findClosest } from '../../core/text/did-you-mean.ts';
import { CONFIG_KEYS, holdsText, variableOf } from '../keys.ts';
import type { ConfigFile } from './config-file.ts';
import { toFieldSetting, toSettings, type Setting } from '../settings.ts';
import { indexTomlLines } from './toml-position.ts';
import { isRecord } from '../../lib/guards.ts';
import type { ConfigLayer } from '../config-layer.ts';
import { parse as parseToml } from 'smol-toml';

/** The settings of one file: the base settings and those of each profile. */
interface FileLayers {
  base: Setting[];
  profiles: Map<string, Setting[]>;
  unusable?: ConfigFile['unusable'];
}

/** HALO_* variables that are not settings of a run. */
const HOST_VARIABLES = ['HALO_HOME', 'HALO_REDIS_URL', 'HALO_URL', 'HALO_TOKEN', 'HALO_PROFILE'];

/** Reads the settings of a file and its profiles; adds rule violations to `problems`. */
function readFileLayers(file: ConfigFile, problems: string[]): FileLayers {
  const baseDir = dirname(file.path);
  const lineOf = indexTomlLines(file.text);
  const at = (key: string) => {
    const elsewhere = [...(file.elsewhere ?? [])].find(([table]) => key === table || key.startsWith(`${table}.`));
    if (elsewhere !== undefined) return elsewhere[1];
    const line = lineOf(key);
    return line === undefined ? file.path : `${file.path}:${line}`;
  };
  const { profiles: tables = {}, ...table } = file.table;
  const base = toSettings('', table, { originOf: at, baseDir, problems });
  const profiles = new Map<string, Setting[]>();
  const { unusable } = file;
  if (!isRecord(tables)) {
    problems.push(`${at('profiles')}: profiles: must be a table`);
    return { base, profiles };
  }
  for (const [name, profile] of Object.entries(tables)) {
    const prefix = `profiles.${name}`;
    if (!isRecord(profile)) {
      problems.push(`${at(prefix)}: ${prefix}: must be a table`);
      continue;
    }
    const originOf = (key: string) => `${at(`${prefix}.${key}`)} [${prefix}]`;
    profiles.set(name, toSettings('', profile, { originOf, baseDir, problems }));
  }
  return { base, profiles, unusable };
}

const KEYS_OF_VARIABLES = new Map([...CONFIG_KEYS.keys()].map((key) => [variableOf(key), key]));

/** Reads settings from `HALO_*` variables; an empty one counts as unset. A probably misspelt one is a problem. */
function readVariables(env: Record<string, string | undefined>, cwd: string, problems: string[]): Setting[] {
  const openPrefix = `${variableOf('env')}_`;
  return Object.entries(env).flatMap(([variable, text]) => {
    if (!variable.startsWith('HALO_') || HOST_VARIABLES.includes(variable)) return [];
    if (text === undefined || text === '') return [];
    const openKey = variable.startsWith(openPrefix) ? `env.${variable.slice(openPrefix.length)}` : undefined;
    const key = KEYS_OF_VARIABLES.get(variable) ?? openKey;
    if (key !== undefined) return readLiteral(key, text, { origin: variable, cwd, problems });
    const meant = findClosest(
      variable.slice(5),
      [...KEYS_OF_VARIABLES.keys(), ...HOST_VARIABLES].map((name) => name.slice(5)),
    );
    if (meant !== undefined) problems.push(`${variable}: unknown variable; did you mean "HALO_${meant}"?`);
    return [];
  });
}

/** Reads settings from `-c key=value` options; later ones take precedence. Throws USAGE for another form. */
export function readOptions(options: string[], cwd: string, problems: string[]): Setting[] {
  return options.flatMap((option) => {
    const split = option.indexOf('=');
    const key = option.slice(0, Math.max(split, 0)).trim();
    if (key === '') {
      throw new HaloError('USAGE', `-c takes key=value, not "${option}".`, {
        hint: 'Write it like `-c limits.memory=2g`.',
      });
    }
    return readLiteral(key, option.slice(split + 1).trim(), { origin: '-c', cwd, problems });
  });
}

function readLiteral(
  key: string,
  text: string,
  { origin, cwd, problems }: { origin: string; cwd: string; problems: string[] },
): Setting[] {
  const value = parseLiteral(text, holdsText(key));
  const source = { originOf: () => origin, baseDir: cwd, problems };
  if (value !== undefined) return toFieldSetting(key, value, source) ?? toSettings(key, value, source);
  problems.push(`${origin}: ${key}: not valid TOML: ${truncate(text, 200)}`);
  return [];
}

/** All sources of settings. */
export interface ConfigSources {
  /** `<HALO_HOME>/config.toml` */
  home?: ConfigFile | undefined;
  /** `<HALO_HOME>/models.json`; `unused`: nothing is computed with prices. */
  models?: ModelCatalog | 'unused' | undefined;
  /** The repository's file. */
  repo?: ConfigFile | undefined;
  /** `--profile`; defaults to HALO_PROFILE. */
  profile?: string | undefined;
  env?: Record<string, string | undefined>;
  /** `-c key=value` options, in order. */
  set?: string[];
  /** Profile and `-c` options come from a request, with the rights of its sender; absent: from the user who runs halo. */
  request?: RequestRights | undefined;
  /** The stories of the run, which may choose agents and models. */
  stories?: readonly Pick<Story, 'id' | 'extra'>[] | undefined;
  /** Absolute folder that relative paths in variables and options are resolved against. */
  cwd: string;
}

/** What a request may set in addition to what every request may. */
export type RequestRights = readonly Right[];

export interface LoadedLayers {
  /** Files, profile and environment; later layers take precedence. */
  standing: ConfigLayer[];
  /** The `-c` options, which take precedence over the standing layers. */
  options: ConfigLayer;
  /** The first layer is the base of config.toml of HALO_HOME. */
  hasHome: boolean;
  request: RequestRights | undefined;
  problems: string[];
}

/** Reads all sources into layers, with one line per invalid setting. Throws CONFIG_INVALID for an unknown profile, USAGE for a malformed `-c`. */
export function loadLayers(sources: ConfigSources): LoadedLayers {
  const { home, repo, profile, env = {}, set = [], cwd, request } = sources;
  const problems: string[] = [];
  const files = [home, repo].flatMap((file) =>
    file ? [{ ...readFileLayers(file, problems), trusted: file !== repo }] : [],
  );
  const own = (settings: Setting[]): ConfigLayer => ({ settings, trusted: true });
  const chosen = readOptions(set, cwd, problems);
  const options: ConfigLayer =
    request === undefined ? own(chosen) : { settings: chosen, trusted: false, requested: true };
  const standing = [
    ...files.map(({ base, trusted }) => ({ settings: base, trusted })),
    ...(request === undefined
      ? pickProfile(files, profile ?? env.HALO_PROFILE)
      : [
          // A request cannot replace the profile of the server.
          ...pickProfile(files, env.HALO_PROFILE),
          ...pickProfile(files, profile).map((layer) =>
            layer.trusted ? { ...layer, requested: true as const } : { ...layer, chosen: true as const },
          ),
        ]),
    own(readVariables(env, cwd, problems)),
  ];
  return { standing, options, hasHome: home !== undefined, request, problems };
}

function pickProfile(files: (FileLayers & { trusted: boolean })[], name: string | undefined): ConfigLayer[] {
  if (name === undefined || name === '') return [];
  const why = files.flatMap(({ unusable }) => unusable?.get(name) ?? [])[0];
  if (why !== undefined) throw why;
  const chosen = files.map(({ profiles, trusted }) => ({ settings: profiles.get(name) ?? [], trusted }));
  if (files.some(({ profiles }) => profiles.has(name))) return chosen;
  const known = [...new Set(files.flatMap(({ profiles }) => [...profiles.keys()]))];
  throw new HaloError('CONFIG_INVALID', `There is no profile "${name}"${closeSentence(name, known)}`, {
    hint:
      known.length === 0
        ? 'Define [profiles.<name>] in a configuration file first.'
        : `Use one of these profiles: ${known.join(', ')}.`,
  });
}

/**
 * Parses a value from the command line or the environment: TOML, or a bare word as a string.
 * `asText`: the key takes strings, so anything but a quoted TOML string is used literally.
 * Returns undefined for an incomplete TOML list, table or string.
 */
function parseLiteral(text: string, asText: boolean): unknown {
  const value = parseToValue(text);
  if (asText && typeof value === 'string') return value;
  if (asText) return value === undefined && QUOTED.test(text) ? undefined : text;
  if (value !== undefined) return value;
  return /^\s*["'[{]/.test(text) ? undefined : text;
}

/** A quoted but malformed TOML string. Used literally, its quotes would become part of the value. */
const QUOTED = /^\s*(["']).*\1\s*$/s;

function parseToValue(text: string): unknown {
  try {
    const table = parseToml(`value = ${text}`);
    return Object.keys(table).length === 1 ? table.value : undefined;
  } catch {
    return undefined;
  }
}
