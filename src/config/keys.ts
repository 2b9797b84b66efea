import { z } from 'zod';
import { findNearest } from '../lib/nearest.ts';
import { keyFacts, type KeyFacts } from './key-facts.ts';
import { HaloToml } from './schema.ts';

/** One key of the configuration, by its dotted name. */
export interface ConfigKey extends KeyFacts {
  name: string;
  schema: z.ZodType;
}

/** Every key, in the order of the schema. */
export const CONFIG_KEYS: ReadonlyMap<string, ConfigKey> = new Map(
  listKeys(HaloToml, '').map((key) => [key.name, key] as const),
);

/** The one key whose members users name themselves. */
export const OPEN_TABLE = 'env';

/** Whether a dotted name is a table of the configuration. */
export function isTableName(name: string): boolean {
  return [...CONFIG_KEYS.keys()].some((key) => key.startsWith(`${name}.`));
}

/** The environment variable of a key: `limits.max_x` is `HALO_LIMITS_MAX_X`. */
export function variableOf(key: string): string {
  return `HALO_${key.replaceAll('.', '_').toUpperCase()}`;
}

/** Whether values of a key are written as strings; those of `-c` and the environment then need no quotes. */
export function holdsText(key: string): boolean {
  if (key.startsWith(`${OPEN_TABLE}.`)) return true;
  const type = CONFIG_KEYS.get(key)?.type;
  return type !== undefined && !/^(list|table|number|whole|true)/.test(type);
}

/** `unknown key`, with the name that was most likely meant. */
export function describeUnknownKey(name: string): string {
  const last = name.split('.').at(-1) ?? name;
  const known = [...CONFIG_KEYS.keys()];
  const tables = known.flatMap((key) => (key.includes('.') ? [key.slice(0, key.lastIndexOf('.'))] : []));
  const sameEnd = known.find((key) => key.endsWith(`.${last}`));
  const meant = sameEnd ?? findNearest(name, [...known, ...tables]);
  return meant === undefined ? 'unknown key' : `unknown key; did you mean "${meant}"?`;
}

function listKeys(table: z.ZodObject, prefix: string): ConfigKey[] {
  return Object.entries(table.shape).flatMap(([part, member]) => {
    const name = `${prefix}${part}`;
    if (member instanceof z.ZodObject) return listKeys(member, `${name}.`);
    const schema = member as z.ZodType;
    const facts = keyFacts.get(schema);
    return facts === undefined ? [] : [{ name, schema, ...facts }];
  });
}
