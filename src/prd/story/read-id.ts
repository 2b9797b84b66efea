import { findIdProblem } from './story-ids.ts';
import { idTextOf } from '../json/json-positions.ts';
import { ID_KEYS } from '../json/field-aliases.ts';
import { addProblem, addWarning, describeKind, take, type MemberReader } from '../json/object-reader.ts';

export interface ReadId {
  id: string;
  /** The id in the file; undefined: `id` was generated from the position. */
  ownId: string | undefined;
}

/** Reads the id of a story, or generates one from its position. `key` is its key in a map of stories. */
export function readId(reader: MemberReader, position: number, key?: string): ReadId {
  const placeholder = `item-${position}`;
  const member = take(reader, ...ID_KEYS);
  if (member === undefined && key !== undefined) return toReadId(reader, key, placeholder);
  if (member === undefined) {
    addWarning(reader, placeholder, 'no id; the id was generated from the position');
    return { id: placeholder, ownId: undefined };
  }
  if (member.kind !== 'string' && member.kind !== 'number') {
    addProblem(reader, member, `must be a string, not ${describeKind(member)}`);
    return { id: placeholder, ownId: undefined };
  }
  const id = idTextOf(member);
  if (member.kind === 'number' && !/^-?\d+$/.test(id)) {
    addWarning(reader, id, 'the id is not an integer; write it in quotes');
  }
  return toReadId({ ...reader, at: member }, id, placeholder);
}

function toReadId(reader: MemberReader, text: string, placeholder: string): ReadId {
  const id = text.trim();
  const fault = findIdProblem(id);
  if (fault === undefined) return { id, ownId: id };
  addProblem(reader, reader.at, fault);
  return { id: placeholder, ownId: undefined };
}
