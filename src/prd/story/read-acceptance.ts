import { oneLine } from '../../lib/text.ts';
import { findMember } from '../json/find-member.ts';
import type { JsonValue } from '../json/json-positions.ts';
import { ACCEPTANCE_KEYS } from '../json/field-aliases.ts';
import { addProblem, addWarning, markTaken, describeKind, type MemberReader } from '../json/object-reader.ts';

const TEXT_KEYS = ['text', 'criterion', 'description', 'title'];

/** Reads the acceptance criteria of a story under any known key. Missing criteria are a warning, a wrong type a problem. */
export function readAcceptance(reader: MemberReader, story: string): string[] {
  const present = ACCEPTANCE_KEYS.filter((name) => isUsable(name, findMember(reader.at, name)));
  const key = present.find((name) => !isEmpty(findMember(reader.at, name))) ?? present[0];
  const member = key === undefined ? undefined : findMember(reader.at, key);
  if (key === undefined || member === undefined) {
    addWarning(reader, story, 'no acceptance criteria');
    // null is treated like a missing key.
    for (const name of ACCEPTANCE_KEYS) if (findMember(reader.at, name)?.kind === 'null') markTaken(reader, name);
    return [];
  }
  const whole = member.kind === 'object' ? readObject(member) : undefined;
  if (whole !== undefined) return [whole];
  if (!member.items.some((item) => item.kind === 'object')) markTaken(reader, key);
  if (member.kind === 'string') return splitText(member.value as string);
  if (member.kind === 'array') return member.items.flatMap((item) => readCriterion(reader, item, story));
  addProblem(reader, member, `must be a list of strings, not ${describeKind(member)}`);
  return [];
}

/** Subtasks that are objects are separate work, not criteria. */
function isUsable(key: string, member: JsonValue | undefined): boolean {
  if (member === undefined || member.kind === 'null') return false;
  return key !== 'subtasks' || (member.kind === 'array' && member.items.every(({ kind }) => kind === 'string'));
}

function isEmpty(member: JsonValue | undefined): boolean {
  return member?.kind === 'array' ? member.items.length === 0 : member?.value === '';
}

function readCriterion(reader: MemberReader, item: JsonValue, story: string): string[] {
  const text = item.kind === 'object' ? readObject(item) : item.kind === 'string' ? (item.value as string) : undefined;
  if (text === undefined) {
    addProblem(reader, item, `must be a string, not ${describeKind(item)}`);
    return [];
  }
  if (text.trim() !== '') return [text.trim()];
  addWarning(reader, story, 'an empty acceptance criterion is ignored');
  return [];
}

/** Reads `{text}` and similar objects, or Given/When/Then. The object itself stays in `extra`. */
function readObject(item: JsonValue): string | undefined {
  const read = (name: string) => {
    const value = findMember(item, name)?.value;
    return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
  };
  for (const key of TEXT_KEYS) {
    const text = read(key);
    if (text !== undefined) return text;
  }
  const clauses = ['Given', 'When', 'Then'].flatMap((word) => {
    const clause = read(word.toLowerCase()) ?? read(word);
    return clause === undefined ? [] : [`${word} ${clause}`];
  });
  return clauses.length === 0 ? undefined : clauses.join(', ');
}

/** Splits a text into lines without bullets. */
function splitText(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => oneLine(line.replace(/^\s*(?:[-*+•]|\d+[.)])\s+/, '')))
    .filter((line) => line !== '');
}
