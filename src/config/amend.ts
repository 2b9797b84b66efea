import { HaloError } from '../core/failure/errors.ts';
import type { Config } from './config.ts';
import { findConflicts } from './cross-field-rules.ts';
import { placeOf } from './keys.ts';
import { readOptions } from './load/file-layers.ts';
import type { ResolvedConfig } from './resolve.ts';

type Table = Record<string, unknown>;

const AMENDABLE_TABLES = ['limits', 'budget', 'retry'];
const AMENDABLE_KEYS = ['gates', 'image', 'model.name', 'model.effort', 'tests.broken_base'];

function isAmendable(key: string): boolean {
  return AMENDABLE_KEYS.includes(key) || AMENDABLE_TABLES.includes(key.split('.')[0] ?? '');
}

const AMENDABLE =
  'Change only keys of [limits], [budget] and [retry], model.name, model.effort, tests.broken_base, gates or image, or start another run.';

/** Settings that decide how a story is verified; a user must approve changes to them. */
const PROVING = ['gates', 'image'];

/** Returns the keys of `key=value` settings to change in an existing run. Throws CONFIG_INVALID, USAGE. */
export function parseAmendedKeys(set: string[]): string[] {
  const problems: string[] = [];
  const keys = [...new Set(readOptions(set, '/', problems).map(({ key }) => key))];
  if (problems.length > 0) throw new HaloError('CONFIG_INVALID', problems.join('\n'), { hint: AMENDABLE });
  const fixed = keys.filter((key) => !isAmendable(key));
  if (fixed.length === 0) return keys;
  throw new HaloError('CONFIG_INVALID', `These settings of an existing run cannot be changed: ${fixed.join(', ')}.`, {
    hint: AMENDABLE,
  });
}

/** Returns the keys whose change a user must approve. */
export function findKeysNeedingApproval(keys: readonly string[]): string[] {
  return keys.filter((key) => PROVING.includes(key));
}

/**
 * Returns the sections of a run's configuration that change when the keys get the values of `resolved`; all other settings
 * keep the values of the run. Throws CONFIG_INVALID if another source overrides a value with a stricter one, or if a value
 * does not fit the other settings of the run.
 */
export function amendConfig(before: Config, keys: readonly string[], resolved: ResolvedConfig): Partial<Config> {
  const change: Table = {};
  for (const key of keys) {
    const origin = resolved.origins[key];
    if (origin !== '-c')
      throw new HaloError('CONFIG_INVALID', `${key}: ${origin ?? 'another file'} overrides the given value.`, {
        hint: 'Change it there first; other sources may only make it stricter.',
      });
    const place = key === 'model.effort' ? ['agentOptions', 'effort'] : placeOf(key);
    const [section = ''] = place;
    change[section] = put(
      change[section] ?? before[section as keyof Config],
      place.slice(1),
      at(resolved.config, place),
    );
  }
  // Prices and rates depend on the model name.
  if (keys.includes('model.name'))
    Object.assign(change, {
      prices: { ...before.prices, ...resolved.config.prices },
      rate: { ...before.rate, ...resolved.config.rate },
    });
  else if (keys.some((key) => key.startsWith('budget.')))
    Object.assign(change, { prices: { ...resolved.config.prices, ...before.prices } });
  assertFits({ ...before, ...change }, { before, pricesOf: resolved.pricesOf });
  return change;
}

/** The other settings of a run need not be those of this machine. */
function assertFits(after: Config, { before, pricesOf }: { before: Config; pricesOf: string }): void {
  const problemsOf = (config: Config) => findConflicts(config, { originOf: () => '-c', pricesOf }).problems;
  const known = problemsOf(before);
  const problems = problemsOf(after).filter((problem) => !known.includes(problem));
  if (problems.length === 0) return;
  throw new HaloError('CONFIG_INVALID', problems.join('\n'), {
    hint: 'These settings do not fit the others of the run. Give model.name as well, also unchanged, to read the prices of its models again.',
  });
}

function put(table: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value;
  return { ...(table as Table), [name]: put((table as Table | undefined)?.[name], rest, value) };
}

function at(config: unknown, place: readonly string[]): unknown {
  return place.reduce((value, name) => (value as Table | undefined)?.[name], config);
}
