import { FAILURE_CLASSES } from '../core/failure/failure.ts';
import { HaloError } from '../core/failure/errors.ts';
import type { Config } from './config.ts';
import { readOptions } from './load/file-layers.ts';
import type { ResolvedConfig } from './resolve.ts';

type Table = Record<string, unknown>;

/** Where a setting is in the configuration of a run, as a path of names. */
const PLACES: Record<string, string[]> = {
  gates: ['gates'],
  image: ['image'],
  'model.name': ['model', 'name'],
  ...placesIn('limits', {
    cpus: 'cpus',
    memory: 'memoryBytes',
    pids: 'pids',
    files: 'files',
    file_size: 'fileBytes',
    disk: 'diskBytes',
    free_disk: 'freeDiskBytes',
    wall: 'wallMs',
    idle: 'idleMs',
    output: 'outputBytes',
  }),
  ...placesIn('retry', {
    attempts: 'attempts',
    backoff: 'backoffMs',
    max_backoff: 'maxBackoffMs',
    multiplier: 'multiplier',
    jitter: 'jitter',
    crashes: 'crashes',
  }),
  ...Object.fromEntries(
    FAILURE_CLASSES.flatMap((name) =>
      Object.entries({ rule: 'rule', backoff: 'backoffMs', retries: 'retries' }).map(([key, member]) => [
        `retry.${name}.${key}`,
        ['retry', 'classes', name, member],
      ]),
    ),
  ),
  ...Object.fromEntries(
    ['story', 'run', 'day'].flatMap((scope) =>
      ['usd', 'tokens'].map((unit) => [`budget.${scope}_${unit}`, ['budget', scope, unit]]),
    ),
  ),
};

function placesIn(table: string, members: Record<string, string>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(members).map(([key, member]) => [`${table}.${key}`, [table, member]]));
}

/** Settings that decide what proves a story, and where: a person says yes to a change of them. */
const PROVING = ['gates', 'image'];

/** The keys of `key=value` settings that a run is to go by from now on. Throws CONFIG_INVALID, USAGE. */
export function amendedKeys(set: string[]): string[] {
  const problems: string[] = [];
  const keys = [...new Set(readOptions(set, '/', problems).map(({ key }) => key))];
  if (problems.length > 0) throw new HaloError('CONFIG_INVALID', problems.join('\n'));
  const fixed = keys.filter((key) => !Object.hasOwn(PLACES, key));
  if (fixed.length === 0) return keys;
  throw new HaloError(
    'CONFIG_INVALID',
    `These settings of a run that was made cannot be changed: ${fixed.join(', ')}.`,
    {
      hint: 'Change keys of [limits], [budget] and [retry], model.name, gates or image; for others, make another run.',
    },
  );
}

/** Those of the keys that a person has to say yes to. */
export function provingKeys(keys: readonly string[]): string[] {
  return keys.filter((key) => PROVING.includes(key));
}

/**
 * The sections of a run's configuration that differ once the keys have the values of `resolved`; all other settings stay
 * as the run was made with. Throws CONFIG_INVALID when a value does not count because somebody else sets a stricter one.
 */
export function amendConfig(before: Config, keys: readonly string[], resolved: ResolvedConfig): Partial<Config> {
  const change: Table = {};
  for (const key of keys) {
    const origin = resolved.origins[key];
    if (origin !== '-c')
      throw new HaloError(
        'CONFIG_INVALID',
        `${key}: the value of ${origin ?? 'another file'} counts, not the one given.`,
        {
          hint: 'Change it there first: what a repository asks for may only be made stricter by others.',
        },
      );
    const place = PLACES[key] ?? [];
    const [section = ''] = place;
    change[section] = put(
      change[section] ?? before[section as keyof Config],
      place.slice(1),
      at(resolved.config, place),
    );
  }
  // What a model costs belongs to its name.
  if (keys.includes('model.name'))
    Object.assign(change, { prices: resolved.config.prices, rate: resolved.config.rate });
  return change;
}

function put(table: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value;
  return { ...(table as Table), [name]: put((table as Table | undefined)?.[name], rest, value) };
}

function at(config: unknown, place: readonly string[]): unknown {
  return place.reduce((value, name) => (value as Table | undefined)?.[name], config);
}
