import { findMember } from './find-member.ts';
import type { JsonValue } from './json-positions.ts';
import { DESCRIPTION_KEYS, INNER_KEYS, TITLE_KEYS } from './field-aliases.ts';

const TEXT_KEYS = [...TITLE_KEYS, ...DESCRIPTION_KEYS, 'details'];

/** Whether a value looks like a list of stories, or like a map of them by id. An empty list does, an empty map does not. */
export function isStories(value: JsonValue): boolean {
  const members = value.kind === 'array' ? value.items : [...value.members.values()];
  if (members.length === 0) return value.kind === 'array';
  return members.every(isMemberOf) && members.some((member) => hasText(member) || holdsObjects(member));
}

/** Whether a value is a map of stories without any. */
export function isEmptyMap({ kind, members }: JsonValue): boolean {
  return kind === 'object' && members.size === 0;
}

/** Whether a value can be a story at all. */
export function isMemberOf(value: JsonValue): boolean {
  return value.kind === 'object';
}

/** Groups of stories need no text of their own. */
function holdsObjects(member: JsonValue): boolean {
  return INNER_KEYS.some((key) => findMember(member, key)?.items[0]?.kind === 'object');
}

function hasText(member: JsonValue): boolean {
  return TEXT_KEYS.some((key) => findMember(member, key) !== undefined);
}
