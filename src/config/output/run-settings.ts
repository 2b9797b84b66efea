import { isRecord } from '../../lib/guards.ts';
import { formatConfigDuration, formatSize } from '../../lib/units.ts';
import { CONFIG_KEYS, placeOf } from '../keys.ts';
import { unitOf } from '../schema/units.ts';

/** The settings of a run, as `run.json` has them, by the keys of `halo.toml` and with the values that it accepts. */
export function listRunSettings(config: unknown): [key: string, value: string][] {
  return [...CONFIG_KEYS.values()].flatMap(({ name, schema, kind }): [string, string][] => {
    const value = placeOf(name).reduce<unknown>((at, part) => (isRecord(at) ? at[part] : undefined), config);
    if (value === undefined) return [];
    if (kind === 'table' && isRecord(value))
      return Object.entries(value).map(([member, each]) => [`${name}.${member}`, JSON.stringify(each)]);
    return [[name, showAmount(value, unitOf(schema))]];
  });
}

function showAmount(value: unknown, unit: ReturnType<typeof unitOf>): string {
  if (typeof value !== 'number' || unit === undefined) return JSON.stringify(value);
  return JSON.stringify(unit === 'Ms' ? formatConfigDuration(value) : formatSize(value));
}
