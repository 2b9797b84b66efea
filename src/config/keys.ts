import { z } from 'zod';
import { findNearest } from '../lib/text.ts';
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

/** Keys whose members users name themselves: each member is a setting of its own. */
export const OPEN_TABLES: readonly string[] = ['env', 'prices', 'rate'];

/** The open table that a dotted name is a member of, and the member's own name, which may hold dots. */
export function openMemberOf(name: string): { table: string; member: string } | undefined {
  const table = OPEN_TABLES.find((open) => name.startsWith(`${open}.`));
  if (table === undefined) return undefined;
  return { table, member: name.slice(table.length + 1).replace(/^(["'])(.*)\1$/, '$2') };
}

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
  if (openMemberOf(key)?.table === 'env') return true;
  const type = CONFIG_KEYS.get(key)?.type;
  return type !== undefined && !/^(list|table|number|whole|true)/.test(type);
}

/** `unknown key`, with the name that was most likely meant. */
export function describeUnknownKey(name: string): string {
  const last = name.split('.').at(-1) ?? name;
  const known = [...CONFIG_KEYS.keys()];
  const tables = known.flatMap((key) => (key.includes('.') ? [key.slice(0, key.lastIndexOf('.'))] : []));
  const sameEnd = [...tables, ...known].find((key) => key.endsWith(`.${last}`));
  const plain = [...known, ...tables].filter((key) => !key.includes('.'));
  const meant = findNearest(name, plain) ?? sameEnd ?? findNearest(name, [...known, ...tables]);
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
