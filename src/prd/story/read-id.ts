import { findIdFault } from '../ids.ts';
import type { JsonValue } from '../json/json-positions.ts';
import { ID_KEYS } from '../json/field-aliases.ts';
import { addProblem, addWarning, nameKind, take, type MemberReader } from '../json/object-reader.ts';

export interface ReadId {
  id: string;
  /** The id as the file has it; undefined: `id` is made up from the position. */
  ownId: string | undefined;
}

/** The id of a story, or one by its position where it has none. `key` is its key in a map of stories. */
export function readId(reader: MemberReader, position: number, key?: string): ReadId {
  const placeholder = `item-${position}`;
  const member = take(reader, ...ID_KEYS);
  if (member === undefined && key !== undefined) return checkId(reader, key, placeholder);
  if (member === undefined) {
    addWarning(reader, placeholder, 'no id, so it is called by its position');
    return { id: placeholder, ownId: undefined };
  }
  if (member.kind !== 'string' && member.kind !== 'number') {
    addProblem(reader, member, `must be a string, not ${nameKind(member)}`);
    return { id: placeholder, ownId: undefined };
  }
  const id = idTextOf(member);
  if (member.kind === 'number' && !/^-?\d+$/.test(id)) {
    addWarning(reader, id, 'the id is a number that is not whole; write it in quotes');
  }
  return checkId({ ...reader, at: member }, id, placeholder);
}

/** A number as it is written: long ones would lose digits, and 1.10 is another id than 1.1. */
export function idTextOf({ value, digits }: JsonValue): string {
  return digits === '' ? String(value).trim() : digits;
}

function checkId(reader: MemberReader, text: string, placeholder: string): ReadId {
  const id = text.trim();
  const fault = findIdFault(id);
  if (fault === undefined) return { id, ownId: id };
  addProblem(reader, reader.at, fault);
  return { id: placeholder, ownId: undefined };
}
