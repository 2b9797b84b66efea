import type { DraftStory } from '../dialect.ts';
import { findMember } from '../json/find-member.ts';
import { idTextOf, type JsonValue } from '../json/json-positions.ts';
import { DEPENDENCY_KEYS, ID_KEYS, LOOSE_DEPENDENCY_KEYS } from '../json/field-aliases.ts';
import { addProblem, markTaken, describeKind, type MemberReader } from '../json/object-reader.ts';

type DependencyReferences = DraftStory['dependsOn'];
type Complain = (at: JsonValue, rule: string) => void;

/** Reads the ids of the stories that must be done first, from all dependency keys. */
export function readDependsOn(reader: MemberReader): DependencyReferences {
  const firm = DEPENDENCY_KEYS.flatMap((key) => {
    const member = findMember(reader.at, key);
    if (member === undefined) return [];
    if (!member.items.some(({ kind }) => kind === 'object')) markTaken(reader, key);
    return readList(member, (at, rule) => addProblem(reader, at, rule));
  });
  // These keys may also name other things, so they stay in `extra` for the agent.
  const loose = LOOSE_DEPENDENCY_KEYS.flatMap((key) => {
    const member = findMember(reader.at, key);
    return member === undefined ? [] : readList(member, () => undefined);
  });
  return [...firm, ...loose.map((reference) => ({ ...reference, loose: true as const }))];
}

function readList(member: JsonValue, complain: Complain): DependencyReferences {
  if (member.kind === 'null') return [];
  if (member.kind === 'array') return member.items.flatMap((item) => readReference(item, complain));
  if (member.kind === 'number') return readReference(member, complain);
  if (member.kind !== 'string') {
    complain(member, `must be a list of story ids, not ${describeKind(member)}`);
    return [];
  }
  const ids = (member.value as string).split(',').map((id) => id.trim());
  return ids.filter((id) => !isNone(id)).map((id) => ({ id, at: member }));
}

/** Reads an id, or an object with an id. */
function readReference(item: JsonValue, complain: Complain): DependencyReferences {
  const id = ID_KEYS.map((key) => findMember(item, key)).find((member) => member !== undefined) ?? item;
  if (id.kind === 'string' || id.kind === 'number') {
    const text = idTextOf(id);
    return isNone(text) ? [] : [{ id: text, at: item }];
  }
  complain(item, `must be a story id, not ${describeKind(item)}`);
  return [];
}

/** True for words that mean "no dependency". */
export function isNone(reference: string): boolean {
  return reference === '' || /^(?:none|nothing|n\/a|null|[-–—])$/i.test(reference);
}
