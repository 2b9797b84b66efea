import type { JsonValue } from './json.ts';
import { DESCRIPTION_KEYS, TITLE_KEYS } from './keys.ts';

const TEXT_KEYS = [...TITLE_KEYS, ...DESCRIPTION_KEYS, 'details'];

/** Whether a value looks like a list of stories, or like a map of them by id. An empty list does, an empty map does not. */
export function isStories(value: JsonValue): boolean {
  const members = value.kind === 'array' ? value.items : [...value.members.values()];
  if (members.length === 0) return value.kind === 'array';
  return members.every(isMemberOf) && members.some(hasText);
}

/** Whether a value can be a story at all. */
export function isMemberOf(value: JsonValue): boolean {
  return value.kind === 'object';
}

function hasText({ members }: JsonValue): boolean {
  return TEXT_KEYS.some((key) => members.has(key));
}
