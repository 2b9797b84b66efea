import type { JsonValue } from './json-positions.ts';
import * as keys from './field-aliases.ts';

const KNOWN = new Set(Object.values(keys).flat());
const KNOWN_BY_FORM = new Map([...KNOWN].reverse().map((key) => [formOf(key), key]));

const found = new WeakMap<JsonValue, ReadonlyMap<string, string>>();

/** The member that an object has under a known key, in any spelling of it; the very spelling goes first. */
export function findMember(object: JsonValue, key: string): JsonValue | undefined {
  return object.members.get(findKey(object, key) ?? key);
}

/** The key under which an object has a member, as it is spelled there; undefined: it has none. */
export function findKey(object: JsonValue, key: string): string | undefined {
  if (object.members.has(key)) return key;
  let spellings = found.get(object);
  if (spellings === undefined) {
    spellings = new Map([...object.members.keys()].reverse().flatMap((spelled) => spellingOf(spelled)));
    found.set(object, spellings);
  }
  return spellings.get(key);
}

/** `Status` is `status`, and `Acceptance Criteria` is `acceptanceCriteria`; a key that is known, or unknown, is itself. */
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
