import { resolve } from 'node:path';
import type { z } from 'zod';
import { truncate } from '../core/text/safe-text.ts';
import { CONFIG_KEYS, describeUnknownKey, isTableName, OPEN_TABLES, openFieldOf, openMemberOf } from './keys.ts';
import { isRecord } from '../lib/guards.ts';
import { holdsPaths } from './schema/units.ts';

/** The value of one key from one source. */
export interface Setting {
  /** Dotted. Members of open tables have keys too (`env.TZ`). */
  key: string;
  /** As written, except that relative paths are made absolute. */
  value: unknown;
  /** For messages: a file with its line, a variable or an option. */
  origin: string;
  /** `value` has only some fields of a member of an open table; those of earlier sources stay. */
  partial?: true;
}

/** The origin of keys that no source sets. */
export const DEFAULT_ORIGIN = 'default';

/** A source of values. */
interface SettingSource {
  originOf(key: string): string;
  /** Absolute folder that relative paths are resolved against. */
  baseDir: string;
  /** Receives one line per violated rule. */
  problems: string[];
}

/** Limit for the number of reported problems. */
const MAX_PROBLEMS = 50;
const MAX_PROBLEM_LENGTH = 500;

/** Splits a value into settings and checks each against the schema. */
export function toSettings(key: string, value: unknown, source: SettingSource): Setting[] {
  const known = CONFIG_KEYS.get(key);
  const open = openMemberOf(key);
  if (isTable(value) && (key === '' || isTableName(key) || OPEN_TABLES.includes(key))) {
    return Object.entries(value).flatMap(([part, member]) => {
      return toSettings(key === '' ? part : `${key}.${part}`, member, source);
    });
  }
  if (source.problems.length > MAX_PROBLEMS) return [];
  const rule =
    known !== undefined
      ? findValueFault(known.schema, key, value)
      : open !== undefined
        ? findValueFault(CONFIG_KEYS.get(open.table)?.schema, open.table, { [open.member]: value })
        : `${key}: ${isTableName(key) ? 'must be a table' : describeUnknownKey(key)}`;
  if (rule !== undefined) {
    const isLast = source.problems.length === MAX_PROBLEMS;
    source.problems.push(isLast ? 'and more' : `${source.originOf(key)}: ${truncate(rule, MAX_PROBLEM_LENGTH)}`);
    return [];
  }
  const name = open === undefined ? key : `${open.table}.${open.member}`;
  const isPath = known !== undefined && holdsPaths(known.schema);
  return [{ key: name, value: isPath ? toAbsolute(value, source.baseDir) : value, origin: source.originOf(key) }];
}

/** The setting of one field of a member of an open table, as in `rate."gpt-5.5".rph`; undefined for any other key. */
export function toFieldSetting(key: string, value: unknown, source: SettingSource): Setting[] | undefined {
  const name = openFieldOf(key);
  const open = openMemberOf(key);
  if (name === undefined || open === undefined || isTable(value)) return undefined;
  // Members of some tables are texts, and have dots in their names.
  const { schema } = CONFIG_KEYS.get(open.table) ?? {};
  if (!name.quoted && findValueFault(schema, open.table, { [open.member]: value }) === undefined) return undefined;
  const settings = toSettings(`${name.table}.${name.member}`, { [name.field]: value }, source);
  return settings.map((setting) => ({ ...setting, partial: true }));
}

/** Returns `key: rule` for the first rule that a value violates. */
function findValueFault(schema: z.ZodType | undefined, key: string, value: unknown): string | undefined {
  const issue = schema?.safeParse(value).error?.issues[0];
  if (issue === undefined) return undefined;
  const path = issue.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  const message = issue.code === 'invalid_key' ? issue.issues[0]?.message : issue.message;
  return `${key}${path}: ${message ?? 'is not valid'}`;
}

function toAbsolute(value: unknown, baseDir: string): unknown {
  if (Array.isArray(value))
    return value.map((path) => (typeof path === 'string' ? resolve(baseDir, path) : path) as unknown);
  return typeof value === 'string' ? resolve(baseDir, value) : value;
}

function isTable(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && !(value instanceof Date);
}
