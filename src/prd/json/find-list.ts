import { defined } from '../../lib/guards.ts';
import { oneLine } from '../../lib/text.ts';
import { FIELDS } from '../../core/prd/fields.ts';
import { GROUP_KEYS, INNER_KEYS, LIST_KEYS, WRAPPER_KEYS } from './field-aliases.ts';
import { idTextOf, type JsonValue } from './json-positions.ts';
import { findMember } from './object-reader.ts';

/** One item of the list of stories. */
export interface StoryMember {
  at: JsonValue;
  /** Its key, if the list is a map: the id, unless the story has an id field. */
  key?: string;
  /** Name of its group. */
  group?: string;
  /** The objects of its groups, outermost first. */
  groups?: JsonValue[];
}

/** The location of the stories in a JSON document. */
export interface FoundList {
  /** At the top level, under a key, under a key of a tag, or spread over groups. */
  kind: 'top' | 'key' | 'tag' | 'group';
  /** The key of the list, or of the groups. */
  key: string;
  /** The object that contains the list; for a top-level list, the list itself. */
  about: JsonValue;
  /** True if `about` is wrapped in another object. */
  wrapped: boolean;
  /** The value that contains the members, for messages. */
  list: JsonValue;
  members: StoryMember[];
  /** Groups without a single story. */
  empty: JsonValue[];
  /** Further lists of stories, which are ignored. */
  others: JsonValue[];
  /** The names of several tags, none of which is `master`. */
  tags?: string[];
}

/** Finds the list of stories in a document: the first match in a fixed search order. */
export function findStoryList(json: JsonValue): FoundList | undefined {
  const top = findAtTop(json);
  if (top !== undefined) return openGroups(top);
  const found = firstFull(
    () => findIn(json, false),
    () => findWrapped(json),
    () => findSuspect(json),
  );
  return found === undefined ? undefined : openGroups(found);
}

/** Returns the first list with stories; an empty list only if all are empty. */
function firstFull(...searches: (() => FoundList | undefined)[]): FoundList | undefined {
  let empty: FoundList | undefined;
  for (const search of searches) {
    const found = search();
    if (found !== undefined && (found.members.length > 0 || found.tags !== undefined)) return found;
    empty ??= found;
  }
  return empty;
}

function findAtTop(json: JsonValue): FoundList | undefined {
  const found = { kind: 'top' as const, key: '', about: json, wrapped: false, list: json, empty: [], others: [] };
  if (json.kind === 'array') return { ...found, members: json.items.map((at) => ({ at })) };
  const { members } = json;
  // A list serialised as an object: {"0": …, "1": …}.
  if (members.size === 0 || ![...members.keys()].every((key, index) => key === String(index))) return undefined;
  return { ...found, members: [...members.values()].map((at) => ({ at })) };
}

function findIn(about: JsonValue, wrapped: boolean): FoundList | undefined {
  return firstFull(
    () => findByKey(about, wrapped),
    () => findTagged(about, wrapped),
    () => findGrouped(about, wrapped),
  );
}

function findByKey(about: JsonValue, wrapped: boolean): FoundList | undefined {
  const [hit, ...others] = findLists(about, LIST_KEYS);
  if (hit === undefined) return undefined;
  return {
    kind: 'key',
    ...hit,
    about,
    wrapped,
    empty: [],
    members: membersOf(hit.list),
    others: others.map(({ list }) => list),
  };
}

function findTagged(about: JsonValue, wrapped: boolean): FoundList | undefined {
  const tags = [...about.members].flatMap(([tag, value]) => {
    const list = findMember(value, 'tasks');
    return list?.kind === 'array' && !WRAPPER_KEYS.includes(tag) ? [{ tag, value, list }] : [];
  });
  const chosen = tags.find(({ tag }) => tag === 'master') ?? tags[0];
  if (chosen === undefined) return undefined;
  const several = tags.length > 1 && chosen.tag !== 'master';
  return {
    kind: 'tag',
    key: 'tasks',
    about: chosen.value,
    wrapped,
    list: chosen.list,
    members: several ? [] : membersOf(chosen.list),
    empty: [],
    others: tags.flatMap(({ list }) => (list === chosen.list || list.items.length === 0 ? [] : [list])),
    ...(several ? { tags: tags.map(({ tag }) => tag) } : {}),
  };
}

function findGrouped(about: JsonValue, wrapped: boolean): FoundList | undefined {
  for (const key of GROUP_KEYS) {
    const list = findMember(about, key);
    const groups = list === undefined ? [] : membersOf(list).map((member) => openGroup(member, LIST_KEYS));
    if (list === undefined || !groups.some(({ lists }) => lists.length > 0)) continue;
    return { kind: 'group', key, about, wrapped, list, ...concat(groups) };
  }
  return undefined;
}

function findWrapped(json: JsonValue): FoundList | undefined {
  for (const key of WRAPPER_KEYS) {
    const about = findMember(json, key);
    const found = about?.kind === 'object' ? findIn(about, true) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Finds a key that should contain stories but does not, so that reading it reports the exact problem. */
function findSuspect(about: JsonValue): FoundList | undefined {
  for (const key of LIST_KEYS.filter(isOnlyForStories)) {
    const found = listUnder(about, key);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What is under one key of a document, also for dialects whose key is not one of the common ones. */
export function listUnder(about: JsonValue, key: string): FoundList | undefined {
  const list = findMember(about, key);
  if (list === undefined) return undefined;
  return { kind: 'key', key, about, wrapped: false, list, members: membersOf(list), empty: [], others: [] };
}

/** True for keys that are only used for stories. */
function isOnlyForStories(key: string): boolean {
  return LIST_KEYS.indexOf(key) < 4;
}

/** If the members contain stories, they are groups and those are the stories. */
function openGroups(found: FoundList): FoundList {
  const groups = found.members.map((member) => openGroup(member, INNER_KEYS));
  if (!groups.some(({ lists: [first] }) => first !== undefined && membersOf(first.list).length > 0)) return found;
  const { members, empty, others } = concat(groups);
  return { ...found, kind: 'group', members, empty: [...found.empty, ...empty], others: [...found.others, ...others] };
}

interface List {
  key: string;
  list: JsonValue;
}

interface Group {
  group: JsonValue;
  /** The enclosing groups. */
  around: JsonValue[];
  lists: List[];
}

function openGroup({ at, groups = [] }: StoryMember, keys: string[]): Group {
  return { group: at, around: groups, lists: findLists(at, keys) };
}

/** Returns the non-empty lists of stories under some keys, or else one empty list. */
function findLists(about: JsonValue, keys: string[]): List[] {
  const lists = keys.flatMap((key): List[] => {
    const list = findMember(about, key);
    const fits = list !== undefined && (looksLikeStories(list) || (isEmptyMap(list) && isOnlyForStories(key)));
    return fits ? [{ key, list }] : [];
  });
  const full = lists.filter(({ list }) => membersOf(list).length > 0);
  return full.length > 0 ? full : lists.slice(0, 1);
}

function concat(groups: Group[]): Pick<FoundList, 'members' | 'empty' | 'others'> {
  return {
    members: groups.flatMap(({ group, around, lists: [first] }) => {
      const name = nameOf(group);
      const members = first === undefined ? [] : membersOf(first.list);
      const within = { groups: [...around, group], ...defined({ group: name }) };
      return members.map((member) => ({ ...member, ...within }));
    }),
    empty: groups.flatMap(({ group, lists: [first] }) =>
      first === undefined || membersOf(first.list).length === 0 ? [group] : [],
    ),
    others: groups.flatMap(({ lists }) => lists.slice(1).map(({ list }) => list)),
  };
}

/** Keys of the name of a group. */
export const GROUP_NAME_KEYS = ['name', 'title', 'id'];

/** The name of a group; undefined if it has none. */
export function nameOf(group: JsonValue): string | undefined {
  const names = GROUP_NAME_KEYS.map((key) => findMember(group, key));
  const name = names.find((member) => member?.kind === 'string' || member?.kind === 'number');
  return name === undefined ? undefined : oneLine(idTextOf(name));
}

function membersOf(list: JsonValue): StoryMember[] {
  if (list.kind === 'array') return list.items.map((at) => ({ at }));
  return [...list.members].filter(([, at]) => isStoryObject(at)).map(([key, at]) => ({ at, key }));
}

const TEXT_KEYS = [...FIELDS.title.keys, ...FIELDS.description.keys, 'details'];

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
function isStoryObject(value: JsonValue): boolean {
  return value.kind === 'object';
}

/** True for groups of stories, which need no text. */
function holdsObjects(member: JsonValue): boolean {
  return INNER_KEYS.some((key) => findMember(member, key)?.items[0]?.kind === 'object');
}

function hasText(member: JsonValue): boolean {
  return TEXT_KEYS.some((key) => findMember(member, key) !== undefined);
}
