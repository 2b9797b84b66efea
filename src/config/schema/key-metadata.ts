import { z } from 'zod';
import type { KeyTrust } from '../trust/key-trust.ts';

type KeyKind = 'text' | 'number' | 'boolean' | 'list' | 'table';

/** The types on the reference page, with the kind of TOML value for each. */
const KINDS = {
  word: 'text',
  string: 'text',
  path: 'text',
  URL: 'text',
  duration: 'text',
  size: 'text',
  'variable name': 'text',
  'name and email': 'text',
  number: 'number',
  'number of USD': 'number',
  'whole number': 'number',
  'true or false': 'boolean',
  'list of globs': 'list',
  'list of host:port': 'list',
  'list of keys': 'list',
  'list of paths': 'list',
  'list of regular expressions': 'list',
  'list of strings': 'list',
  'list of tables': 'list',
  'list of variable names': 'list',
  'list of words': 'list',
  'table of strings': 'table',
  'table of tables': 'table',
} as const satisfies Record<string, KeyKind>;

/** The metadata of a key, for the reference page and the trust rules. */
export interface KeyMetadata {
  type: keyof typeof KINDS;
  kind: KeyKind;
  /** The default as written in the file; undefined: none. */
  default: unknown;
  meaning: string;
  trust: KeyTrust;
}

/** The metadata of every key of the schema. */
export const keyMetadata = z.registry<KeyMetadata>();

/** Defines a key of the schema with its type, default and meaning, and who may set it. */
export function key<S extends z.ZodType>(
  schema: S,
  [type, preset, meaning]: [keyof typeof KINDS, unknown, string],
  trust: KeyTrust,
): S {
  const own = schema.clone();
  keyMetadata.add(own, { type, kind: KINDS[type], default: preset, meaning, trust });
  return own;
}
