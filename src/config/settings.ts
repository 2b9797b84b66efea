import { resolve } from 'node:path';
import type { z } from 'zod';
import { findClosest } from '../core/text/did-you-mean.ts';
import { truncate } from '../core/text/safe-text.ts';
import { CONFIG_KEYS, describeUnknownKey, isTableName, keyNamed, OPEN_TABLES, openFieldOf, openMemberOf } from './keys.ts'; // prettier-ignore
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

/** Splits a value into settings and checks each against the schema; with `field`, only this one of a member of an open table. */
export function toSettings(written: string, value: unknown, source: SettingSource, field?: string): Setting[] {
  const key = keyNamed(written);
  const known = CONFIG_KEYS.get(key);
  const open = openMemberOf(key);
  if (isTable(value) && (key === '' || isTableName(key) || OPEN_TABLES.includes(key))) {
    return Object.entries(value).flatMap(([part, member]) => {
      return toSettings(key === '' ? part : `${written}.${part}`, member, source);
    });
  }
  if (source.problems.length > MAX_PROBLEMS) return [];
  const fault =
    known !== undefined
      ? findValueFault(known.schema, key, value)
      : open !== undefined
        ? findMemberFault(open, value, { table: key === written ? open.table : 'agents', field })
        : { path: [], says: `${key}: ${isTableName(key) ? 'must be a table' : describeUnknownKey(key)}` };
  if (fault !== undefined) {
    const isLast = source.problems.length === MAX_PROBLEMS;
    const at = [written, ...fault.path.slice(open === undefined ? 0 : 1)].join('.');
    source.problems.push(isLast ? 'and more' : `${source.originOf(at)}: ${truncate(fault.says, MAX_PROBLEM_LENGTH)}`);
    return [];
  }
  const name = open === undefined ? key : `${open.table}.${open.member}`;
  const isPath = known !== undefined && holdsPaths(known.schema);
  return [{ key: name, value: isPath ? toAbsolute(value, source.baseDir) : value, origin: source.originOf(written) }];
}

/** The setting of one field of a member of an open table, as in `rate."gpt-5.5".rph`; undefined for any other key. */
export function toFieldSetting(written: string, value: unknown, source: SettingSource): Setting[] | undefined {
  const key = keyNamed(written);
  const name = openFieldOf(key);
  const open = openMemberOf(key);
  if (name === undefined || open === undefined || isTable(value)) return undefined;
  // Members of some tables are texts, and have dots in their names.
  const { schema } = CONFIG_KEYS.get(open.table) ?? {};
  if (!name.quoted && findValueFault(schema, open.table, { [open.member]: value }) === undefined) return undefined;
  const settings = toSettings(`${name.table}.${name.member}`, { [name.field]: value }, source, name.field);
  return settings.map((setting) => ({ ...setting, partial: true }));
}

/** A rule that a value violates, after its key, and the names below the key of what violates it. */
interface ValueFault {
  path: readonly string[];
  says: string;
}

function findValueFault(
  schema: z.ZodType | undefined,
  key: string,
  value: unknown,
  counts: (path: readonly PropertyKey[]) => boolean = () => true,
): ValueFault | undefined {
  const issues = schema?.safeParse(value).error?.issues.filter(({ path }) => counts(path)) ?? [];
  const [first] = issues;
  if (first === undefined) return undefined;
  // A misspelled key explains why another one is missing.
  const missing = String(first.path.at(-1));
  const misspelled = issues.find((each) => each.code === 'unrecognized_keys');
  const isMeant = misspelled?.keys.some((each) => findClosest(each, [missing]) !== undefined) === true;
  const issue = (isMeant ? misspelled : undefined) ?? first;
  const path = issue.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  const message = issue.code === 'invalid_key' ? issue.issues[0]?.message : issue.message;
  const unknown = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const named = [...issue.path, ...unknown].filter((part) => typeof part === 'string');
  return { path: named, says: `${key}${path}: ${message ?? 'is not valid'}` };
}

/** The same for a member of an open table, which messages call `table`; with `field`, the others may be missing. */
function findMemberFault(
  { table: name, member }: { table: string; member: string },
  value: unknown,
  { table, field }: { table: string; field: string | undefined },
): ValueFault | undefined {
  const { schema } = CONFIG_KEYS.get(name) ?? {};
  return findValueFault(schema, table, { [member]: value }, ([, part]) => field === undefined || part === undefined || part === field); // prettier-ignore
}

function toAbsolute(value: unknown, baseDir: string): unknown {
  if (Array.isArray(value))
    return value.map((path) => (typeof path === 'string' ? resolve(baseDir, path) : path) as unknown);
  return typeof value === 'string' ? resolve(baseDir, value) : value;
}

function isTable(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && !(value instanceof Date);
}
