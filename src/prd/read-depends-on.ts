import type { DraftStory } from './dialect.ts';
import type { JsonValue } from './json.ts';
import { addProblem, nameKind, type MemberReader } from './members.ts';

const KEYS = ['dependsOn', 'dependencies', 'depends_on', 'deps', 'blockedBy', 'blocked_by', 'prerequisites'];

/** The stories that must be done first, by id. The member itself stays in `extra`, as it was. */
export function readDependsOn(reader: MemberReader): DraftStory['dependsOn'] {
  const member = KEYS.map((key) => reader.at.members.get(key)).find((it) => it !== undefined && it.kind !== 'null');
  if (member === undefined) return [];
  if (member.kind === 'array') return member.items.flatMap((item) => readReference(reader, item));
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
