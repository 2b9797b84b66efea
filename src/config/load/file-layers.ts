import { dirname } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { clip } from '../../core/safe-text.ts';
import { findNearest } from '../../lib/text.ts';
import { CONFIG_KEYS, holdsText, variableOf } from '../keys.ts';
import { parseLiteral } from './parse-literal.ts';
import type { ConfigFile } from './config-file.ts';
import { toSettings, type Setting } from '../settings.ts';
import { openTomlLines } from './toml-position.ts';

/** What one file sets: for all, and in each of its profiles. */
export interface FileLayers {
  base: Setting[];
  profiles: Map<string, Setting[]>;
}

/** Variables that are not settings of a run. */
const HOST_VARIABLES = ['HALO_HOME', 'HALO_REDIS_URL', 'HALO_URL', 'HALO_TOKEN', 'HALO_PROFILE'];

/** Reads a file, its profiles too; what breaks a rule is added to `problems`. */
export function readFileLayers(file: ConfigFile, problems: string[]): FileLayers {
  const baseDir = dirname(file.path);
  const lineOf = openTomlLines(file.text);
  const at = (key: string) => {
    const line = lineOf(key);
    return line === undefined ? file.path : `${file.path}:${line}`;
  };
  const { profiles: tables = {}, ...table } = file.table;
  const base = toSettings('', table, { originOf: at, baseDir, problems });
  const profiles = new Map<string, Setting[]>();
  if (typeof tables !== 'object' || tables === null || Array.isArray(tables)) {
    problems.push(`${at('profiles')}: profiles: must be a table`);
    return { base, profiles };
  }
  for (const [name, profile] of Object.entries(tables)) {
    const prefix = `profiles.${name}`;
    if (typeof profile !== 'object' || profile === null || Array.isArray(profile)) {
      problems.push(`${at(prefix)}: ${prefix}: must be a table`);
      continue;
    }
    const originOf = (key: string) => `${at(`${prefix}.${key}`)} [${prefix}]`;
    profiles.set(name, toSettings('', profile, { originOf, baseDir, problems }));
  }
  return { base, profiles };
}

/** Settings of `HALO_*` variables; an empty one counts as not set. One that looks misspelt is a problem. */
export function readVariables(env: Record<string, string | undefined>, cwd: string, problems: string[]): Setting[] {
  const keys = new Map([...CONFIG_KEYS.keys()].map((key) => [variableOf(key), key]));
  const openPrefix = `${variableOf('env')}_`;
  return Object.entries(env).flatMap(([variable, text]) => {
    if (!variable.startsWith('HALO_') || HOST_VARIABLES.includes(variable)) return [];
    if (text === undefined || text === '') return [];
    const openKey = variable.startsWith(openPrefix) ? `env.${variable.slice(openPrefix.length)}` : undefined;
    const key = keys.get(variable) ?? openKey;
    if (key !== undefined) return readLiteral(key, text, { origin: variable, cwd, problems });
    const meant = findNearest(
      variable.slice(5),
      [...keys.keys(), ...HOST_VARIABLES].map((name) => name.slice(5)),
    );
    if (meant !== undefined) problems.push(`${variable}: unknown variable; did you mean "HALO_${meant}"?`);
    return [];
  });
}

/** Settings of `-c key=value` options, later ones win. Throws USAGE when one is not of that form. */
export function readOptions(options: string[], cwd: string, problems: string[]): Setting[] {
  return options.flatMap((option) => {
    const split = option.indexOf('=');
    const key = option.slice(0, Math.max(split, 0)).trim();
    if (key === '') {
      throw new HaloError('USAGE', `-c takes key=value, not "${option}"`, { hint: 'For example: -c limits.memory=2g' });
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
  if (value !== undefined) return toSettings(key, value, { originOf: () => origin, baseDir: cwd, problems });
  problems.push(`${origin}: ${key}: not valid TOML: ${clip(text, 200)}`);
  return [];
}
