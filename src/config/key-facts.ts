import { z } from 'zod';

/** What people need to know of a key; the reference page lists exactly this. */
export interface KeyFacts {
  type: string;
  /** As it would be written in the file; undefined: none. */
  default: unknown;
  meaning: string;
}

/** The facts of every key of the schema. */
export const keyFacts = z.registry<KeyFacts>();

/** A key of the schema, with its facts: type, default, meaning. */
export function key<S extends z.ZodType>(schema: S, [type, preset, meaning]: [string, unknown, string]): S {
  const own = schema.clone();
  keyFacts.add(own, { type, default: preset, meaning });
  return own;
}
