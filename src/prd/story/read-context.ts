import type { ContextEntry } from '../dialect.ts';
import { findMember } from '../json/find-member.ts';
import { GROUP_NAME_KEYS, nameOf, type FoundList } from '../json/find-list.ts';
import type { JsonValue } from '../json/json-positions.ts';
import { FLAG_KEYS, INNER_KEYS, LIST_KEYS, STATUS_KEYS } from '../json/field-aliases.ts';
import { markTaken, readExtra, readMembers, type MemberReader } from '../json/object-reader.ts';
import { defined } from '../../lib/guards.ts';

/** Reads everything except the stories from a JSON document: top-level fields, then groups, outer groups first. */
export function readContext(
  found: FoundList,
  { about, outer }: { about: MemberReader; outer: MemberReader },
): ContextEntry[] {
  const lists = new Set([found.list, ...found.others]);
  const whole = found.list === found.about ? [] : outer === about ? [about] : [outer, about];
  return [
    ...whole.flatMap((reader) => readEntries(reader.at === about.at ? reader : withoutPath(reader, found), lists)),
    ...aboutGroups(found),
  ];
}

/** Excludes the object that contains the stories and sibling tags with other stories. */
function withoutPath(reader: MemberReader, found: FoundList): MemberReader {
  for (const [key, member] of reader.at.members) {
    const holdsTasks = found.kind === 'tag' && findMember(member, 'tasks')?.kind === 'array';
    if (member === found.about || holdsTasks) reader.taken.add(key);
  }
  return reader;
}

function readEntries(reader: MemberReader, lists: ReadonlySet<JsonValue>): ContextEntry[] {
  for (const [key, member] of reader.at.members) if (lists.has(member) || key.startsWith('$')) reader.taken.add(key);
  return Object.entries(readExtra(reader)).map(([label, value]) => ({ label, value }));
}

/** Reads the groups, including groups without stories. */
function aboutGroups({ members, empty }: FoundList): ContextEntry[] {
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
    return [{ label: nameOf(group) ?? group.where, value, ...defined({ stories }) }];
  });
}

/** Excludes the name, which is the label, and the progress, which follows from the stories. */
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
