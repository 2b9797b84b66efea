import { toOneLine } from '../../lib/one-line.ts';
import { isEmptyMap, isMemberOf, isStories } from './looks-like-stories.ts';
import { findMember } from './find-member.ts';
import type { JsonValue } from './json-positions.ts';
import { GROUP_KEYS, INNER_KEYS, LIST_KEYS, WRAPPER_KEYS } from './field-aliases.ts';
import { idTextOf } from '../story/read-id.ts';

/** One member of the list of stories. */
export interface Member {
  at: JsonValue;
  /** Its key, where the list is a map: the id, unless the story has one of its own. */
  key?: string;
  /** Name of the group that it is in. */
  group?: string;
  /** The objects of all groups that it is in, from the outside in. */
  groups?: JsonValue[];
}

/** Where a JSON document keeps its stories. */
export interface FoundList {
  /** At the top level, under a key, under a key of a tag, or spread over groups. */
  kind: 'top' | 'key' | 'tag' | 'group';
  /** The key of the list; of the groups, where there are groups. */
  key: string;
  /** The object that describes the whole; of a list at top level, the list. */
  about: JsonValue;
  /** Whether `about` is wrapped in another object. */
  wrapped: boolean;
  /** The value that holds the members, for messages. */
  list: JsonValue;
  members: Member[];
  /** Groups without a single story. */
  empty: JsonValue[];
  /** Lists of stories beside the one that counts. */
  others: JsonValue[];
  /** Several tags, none of which counts before the others. */
  tags?: string[];
}

/** Finds the list of stories in a document: the first that fits, in a fixed order. */
export function findList(json: JsonValue): FoundList | undefined {
  const top = findAtTop(json);
  if (top !== undefined) return openGroups(top);
  const found = firstFull(
    () => findIn(json, false),
    () => findWrapped(json),
    () => findSuspect(json),
  );
  return found === undefined ? undefined : openGroups(found);
}

/** The first that holds a story; an empty one counts only where all are empty. */
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
  // A list that went through a script: {"0": …, "1": …}.
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

/** A key that should hold stories and does not: reading it says exactly what is wrong. */
function findSuspect(about: JsonValue): FoundList | undefined {
  for (const key of LIST_KEYS.filter(isTelling)) {
    const list = findMember(about, key);
    if (list === undefined) continue;
    return { kind: 'key', key, about, wrapped: false, list, members: membersOf(list), empty: [], others: [] };
  }
  return undefined;
}

/** Whether nothing but stories is kept under a key. */
function isTelling(key: string): boolean {
  return LIST_KEYS.indexOf(key) < 4;
}

/** When the members hold stories themselves, those are the stories. */
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
  /** Groups around it. */
  around: JsonValue[];
  lists: List[];
}

function openGroup({ at, groups = [] }: Member, keys: string[]): Group {
  return { group: at, around: groups, lists: findLists(at, keys) };
}

/** The lists of stories under some keys: the full ones, or else an empty one. */
function findLists(about: JsonValue, keys: string[]): List[] {
  const lists = keys.flatMap((key): List[] => {
    const list = findMember(about, key);
    const fits = list !== undefined && (isStories(list) || (isEmptyMap(list) && isTelling(key)));
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
      const within = { groups: [...around, group], ...(name === undefined ? {} : { group: name }) };
      return members.map((member) => ({ ...member, ...within }));
    }),
    empty: groups.flatMap(({ group, lists: [first] }) =>
      first === undefined || membersOf(first.list).length === 0 ? [group] : [],
    ),
    others: groups.flatMap(({ lists }) => lists.slice(1).map(({ list }) => list)),
  };
}

/** Where a group has its name. */
export const GROUP_NAME_KEYS = ['name', 'title', 'id'];

/** What a group is called; undefined: it has no name. */
export function nameOf(group: JsonValue): string | undefined {
  const names = GROUP_NAME_KEYS.map((key) => findMember(group, key));
  const name = names.find((member) => member?.kind === 'string' || member?.kind === 'number');
  return name === undefined ? undefined : toOneLine(idTextOf(name));
}

function membersOf(list: JsonValue): Member[] {
  if (list.kind === 'array') return list.items.map((at) => ({ at }));
  return [...list.members].filter(([, at]) => isMemberOf(at)).map(([key, at]) => ({ at, key }));
}
