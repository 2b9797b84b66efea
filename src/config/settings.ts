import { resolve } from 'node:path';
import type { z } from 'zod';
import { clip } from '../core/safe-text.ts';
import { CONFIG_KEYS, describeUnknownKey, isTableName, OPEN_TABLES, openMemberOf } from './keys.ts';

/** One key set by one source. */
export interface Setting {
  /** Dotted; members of open tables are keys of their own (`env.TZ`). */
  key: string;
  /** As it was written; only a relative path has become absolute. */
  value: unknown;
  /** For people: a file with its line, a variable, an option. */
  origin: string;
}

/** Where values come from. */
export interface SettingSource {
  originOf(key: string): string;
  /** Absolute folder at which relative paths start. */
  baseDir: string;
  /** Each broken rule of the source is added here, as one line. */
  problems: string[];
}

/** More are of no use to the person who reads them; nothing is looked up for the rest. */
const MOST_PROBLEMS = 50;
const LONGEST_PROBLEM = 500;

/** Takes a value apart into the keys that it sets, each checked against the schema. */
export function toSettings(key: string, value: unknown, source: SettingSource): Setting[] {
  const known = CONFIG_KEYS.get(key);
  const open = openMemberOf(key);
  if (isTable(value) && (key === '' || isTableName(key) || OPEN_TABLES.includes(key))) {
    return Object.entries(value).flatMap(([part, member]) => {
      return toSettings(key === '' ? part : `${key}.${part}`, member, source);
    });
  }
  if (source.problems.length > MOST_PROBLEMS) return [];
  const rule =
    known !== undefined
      ? findFault(known.schema, key, value)
      : open !== undefined
        ? findFault(CONFIG_KEYS.get(open.table)?.schema, open.table, { [open.member]: value })
        : `${key}: ${isTableName(key) ? 'must be a table' : describeUnknownKey(key)}`;
  if (rule !== undefined) {
    const isLast = source.problems.length === MOST_PROBLEMS;
    source.problems.push(isLast ? 'and more' : `${source.originOf(key)}: ${clip(rule, LONGEST_PROBLEM)}`);
    return [];
  }
  const name = open === undefined ? key : `${open.table}.${open.member}`;
  return [{ key: name, value: toAbsolute(key, value, source.baseDir), origin: source.originOf(key) }];
}

/** `key: rule broken` of the first rule that a value breaks. */
function findFault(schema: z.ZodType | undefined, key: string, value: unknown): string | undefined {
  const issue = schema?.safeParse(value).error?.issues[0];
  if (issue === undefined) return undefined;
  const path = issue.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  const message = issue.code === 'invalid_key' ? issue.issues[0]?.message : issue.message;
  return `${key}${path}: ${message ?? 'is not valid'}`;
}

function toAbsolute(key: string, value: unknown, baseDir: string): unknown {
  if (!PATHS.includes(key)) return value;
  if (Array.isArray(value))
    return value.map((path) => (typeof path === 'string' ? resolve(baseDir, path) : path) as unknown);
  return typeof value === 'string' ? resolve(baseDir, value) : value;
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** Keys whose relative paths start at whoever sets them. */
const PATHS = [
  'model.cassettes',
  'model.key_file',
  'providers.openai.key_file',
  'providers.anthropic.key_file',
  'providers.google.key_file',
  'network.ca_file',
  'git.signing_key',
  'git.allowed_signers',
  'secrets.files',
];
