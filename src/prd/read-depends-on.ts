import type { DraftStory } from './dialect.ts';
import type { JsonValue } from './json.ts';
import { DEPENDENCY_KEYS } from './keys.ts';
import { addProblem, nameKind, take, type MemberReader } from './members.ts';

/** The stories that must be done first, by id. */
export function readDependsOn(reader: MemberReader): DraftStory['dependsOn'] {
  const member = take(reader, ...DEPENDENCY_KEYS);
  if (member === undefined) return [];
  if (member.kind === 'array') return member.items.flatMap((item) => readReference(reader, item));
  if (member.kind === 'number') return readReference(reader, member);
  if (member.kind !== 'string') {
    addProblem(reader, member, `must be a list of story ids, not ${nameKind(member)}`);
    return [];
  }
  const ids = (member.value as string).split(',').map((id) => id.trim());
  return ids.filter((id) => id !== '').map((id) => ({ id, at: member }));
}

function readReference(reader: MemberReader, item: JsonValue): DraftStory['dependsOn'] {
  if (item.kind === 'string' || item.kind === 'number') return [{ id: String(item.value).trim(), at: item }];
  addProblem(reader, item, `must be a story id, not ${nameKind(item)}`);
  return [];
}
