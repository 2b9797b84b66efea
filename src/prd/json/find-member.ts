import type { JsonValue } from './json-positions.ts';
import * as keys from './field-aliases.ts';

const KNOWN = new Set(Object.values(keys).flat());
const KNOWN_BY_FORM = new Map([...KNOWN].reverse().map((key) => [formOf(key), key]));

const found = new WeakMap<JsonValue, ReadonlyMap<string, string>>();

/** Finds a member by a known key in any spelling; the exact spelling takes precedence. */
export function findMember(object: JsonValue, key: string): JsonValue | undefined {
  return object.members.get(findKey(object, key) ?? key);
}

/** Finds the actual spelling of a known key in an object; undefined if there is no such member. */
export function findKey(object: JsonValue, key: string): string | undefined {
  if (object.members.has(key)) return key;
  let spellings = found.get(object);
  if (spellings === undefined) {
    spellings = new Map([...object.members.keys()].reverse().flatMap((spelled) => spellingOf(spelled)));
    found.set(object, spellings);
  }
  return spellings.get(key);
}

/** Maps a key to its known spelling (`Acceptance Criteria` to `acceptanceCriteria`). Other keys are returned unchanged. */
export function canonicalKey(spelled: string): string {
  return KNOWN.has(spelled) ? spelled : (KNOWN_BY_FORM.get(formOf(spelled)) ?? spelled);
}

function spellingOf(spelled: string): [string, string][] {
  const known = canonicalKey(spelled);
  return known === spelled ? [] : [[known, spelled]];
}

function formOf(key: string): string {
  return key
    .slice(0, 60)
    .toLowerCase()
    .replace(/[\s_-]+/g, '');
}
