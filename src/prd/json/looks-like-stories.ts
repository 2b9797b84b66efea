import { findMember } from './find-member.ts';
import type { JsonValue } from './json-positions.ts';
import { DESCRIPTION_KEYS, INNER_KEYS, TITLE_KEYS } from './field-aliases.ts';

const TEXT_KEYS = [...TITLE_KEYS, ...DESCRIPTION_KEYS, 'details'];

/** True if a value looks like a list of stories or a map of stories by id. True for an empty list, false for an empty map. */
export function looksLikeStories(value: JsonValue): boolean {
  const members = value.kind === 'array' ? value.items : [...value.members.values()];
  if (members.length === 0) return value.kind === 'array';
  return members.every(isStoryObject) && members.some((member) => hasText(member) || holdsObjects(member));
}

/** True for an empty object. */
export function isEmptyMap({ kind, members }: JsonValue): boolean {
  return kind === 'object' && members.size === 0;
}

/** True if a value can be a story. */
export function isStoryObject(value: JsonValue): boolean {
  return value.kind === 'object';
}

/** True for groups of stories, which need no text. */
function holdsObjects(member: JsonValue): boolean {
  return INNER_KEYS.some((key) => findMember(member, key)?.items[0]?.kind === 'object');
}

function hasText(member: JsonValue): boolean {
  return TEXT_KEYS.some((key) => findMember(member, key) !== undefined);
}
