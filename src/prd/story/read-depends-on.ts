import type { DraftStory } from '../dialect.ts';
import { findMember } from '../json/find-member.ts';
import type { JsonValue } from '../json/json-positions.ts';
import { DEPENDENCY_KEYS, ID_KEYS, LOOSE_DEPENDENCY_KEYS } from '../json/field-aliases.ts';
import { addProblem, markTaken, nameKind, type MemberReader } from '../json/object-reader.ts';
import { idTextOf } from './read-id.ts';

type References = DraftStory['dependsOn'];
type Complain = (at: JsonValue, rule: string) => void;

/** The stories that must be done first, by id: all that stand under any of the keys for them. */
export function readDependsOn(reader: MemberReader): References {
  const firm = DEPENDENCY_KEYS.flatMap((key) => {
    const member = findMember(reader.at, key);
    if (member === undefined) return [];
    if (!member.items.some(({ kind }) => kind === 'object')) markTaken(reader, key);
    return readList(member, (at, rule) => addProblem(reader, at, rule));
  });
  // Other things may be needed, too: the agent reads these members as they are.
  const loose = LOOSE_DEPENDENCY_KEYS.flatMap((key) => {
    const member = findMember(reader.at, key);
    return member === undefined ? [] : readList(member, () => undefined);
  });
  return [...firm, ...loose.map((reference) => ({ ...reference, loose: true as const }))];
}

function readList(member: JsonValue, complain: Complain): References {
  if (member.kind === 'null') return [];
  if (member.kind === 'array') return member.items.flatMap((item) => readReference(item, complain));
  if (member.kind === 'number') return readReference(member, complain);
  if (member.kind !== 'string') {
    complain(member, `must be a list of story ids, not ${nameKind(member)}`);
    return [];
  }
  const ids = (member.value as string).split(',').map((id) => id.trim());
  return ids.filter((id) => !isNone(id)).map((id) => ({ id, at: member }));
}

/** An id, or an object that has one. */
function readReference(item: JsonValue, complain: Complain): References {
  const id = ID_KEYS.map((key) => findMember(item, key)).find((member) => member !== undefined) ?? item;
  if (id.kind === 'string' || id.kind === 'number') {
    const text = idTextOf(id);
    return isNone(text) ? [] : [{ id: text, at: item }];
  }
  complain(item, `must be a story id, not ${nameKind(item)}`);
  return [];
}

/** Words for no story at all. */
export function isNone(reference: string): boolean {
  return reference === '' || /^(?:none|nothing|n\/a|null|[-–—])$/i.test(reference);
}
