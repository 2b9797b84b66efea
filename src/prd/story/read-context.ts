import type { About } from '../dialect.ts';
import { findMember } from '../json/find-member.ts';
import { GROUP_NAME_KEYS, nameOf, type FoundList } from '../json/find-list.ts';
import type { JsonValue } from '../json/json-positions.ts';
import { FLAG_KEYS, INNER_KEYS, LIST_KEYS, STATUS_KEYS } from '../json/field-aliases.ts';
import { markTaken, readExtra, readMembers, type MemberReader } from '../json/object-reader.ts';

/** What a JSON document says besides its stories: of the whole, then of their groups, the outer ones first. */
export function readContext(found: FoundList, { about, outer }: { about: MemberReader; outer: MemberReader }): About[] {
  const lists = new Set([found.list, ...found.others]);
  const whole = found.list === found.about ? [] : outer === about ? [about] : [outer, about];
  return [
    ...whole.flatMap((reader) => describe(reader.at === about.at ? reader : withoutPath(reader, found), lists)),
    ...aboutGroups(found),
  ];
}

/** The object that holds the stories, and those beside it that hold others, are no description. */
function withoutPath(reader: MemberReader, found: FoundList): MemberReader {
  for (const [key, member] of reader.at.members) {
    const holdsTasks = found.kind === 'tag' && findMember(member, 'tasks')?.kind === 'array';
    if (member === found.about || holdsTasks) reader.taken.add(key);
  }
  return reader;
}

function describe(reader: MemberReader, lists: ReadonlySet<JsonValue>): About[] {
  for (const [key, member] of reader.at.members) if (lists.has(member) || key.startsWith('$')) reader.taken.add(key);
  return Object.entries(readExtra(reader)).map(([label, value]) => ({ label, value }));
}

/** Groups without a story of their own tell what the others are part of. */
function aboutGroups({ members, empty }: FoundList): About[] {
  const placesOf = new Map<JsonValue, number[] | undefined>();
  for (const [place, { groups = [] }] of members.entries()) {
    for (const group of groups) {
      const places = placesOf.get(group);
      if (places === undefined) placesOf.set(group, [place]);
      else places.push(place);
    }
  }
  for (const group of empty) placesOf.set(group, undefined);
  return [...placesOf].flatMap(([group, stories]) => {
    const value = describeGroup(group);
    if (Object.keys(value).every((key) => key === 'id')) return [];
    return [{ label: nameOf(group) ?? group.where, value, ...(stories === undefined ? {} : { stories }) }];
  });
}

/** Its name is its label, and its progress follows from that of its stories. */
function describeGroup(group: JsonValue): Record<string, unknown> {
  const reader = readMembers(group, { problems: [], warnings: [] });
  for (const key of [...LIST_KEYS, ...INNER_KEYS]) {
    const list = findMember(group, key);
    if (list?.kind === 'object' || list?.items.some(({ kind }) => kind === 'object')) markTaken(reader, key);
  }
  for (const key of [...FLAG_KEYS, ...STATUS_KEYS]) markTaken(reader, key);
  const name = GROUP_NAME_KEYS.find((key) => findMember(group, key)?.kind === 'string');
  if (name !== undefined) markTaken(reader, name);
  return readExtra(reader);
}
