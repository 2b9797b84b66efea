import type { Findings } from '../findings.ts';
import { findKey, findMember } from './find-member.ts';
import { plainOf, type JsonValue } from './json-positions.ts';

/** Reads members of one object and remembers which it has read; the rest is its `extra`. */
export interface MemberReader {
  at: JsonValue;
  findings: Findings;
  taken: Set<string>;
}

export function readMembers(at: JsonValue, findings: Findings): MemberReader {
  return { at, findings, taken: new Set() };
}

/** The first of `keys` that is there and not null; later ones stay in `extra`. */
export function take(reader: MemberReader, ...keys: string[]): JsonValue | undefined {
  for (const key of keys) {
    const member = findMember(reader.at, key);
    if (member === undefined) continue;
    markTaken(reader, key);
    if (member.kind !== 'null') return member;
  }
  return undefined;
}

/** The member under a known key counts as read. */
export function markTaken(reader: MemberReader, key: string): void {
  reader.taken.add(findKey(reader.at, key) ?? key);
}

/** Text of the first of `keys` that is there; anything but a string is a problem. */
export function takeText(reader: MemberReader, ...keys: string[]): string | undefined {
  const member = take(reader, ...keys);
  if (member === undefined) return undefined;
  if (member.kind === 'string') return member.value as string;
  addProblem(reader, member, `must be a string, not ${nameKind(member)}`);
  return undefined;
}

/** Text of a required member that is not blank. */
export function requireText(reader: MemberReader, key: string): string {
  const text = takeText(reader, key);
  const member = findMember(reader.at, key);
  if (member === undefined || member.kind === 'null') addProblem(reader, missing(reader.at, key), 'is missing');
  else if (text?.trim() === '') addProblem(reader, member, 'is empty');
  return text ?? '';
}

/** All members that nothing has read, as they were. */
export function readExtra(reader: MemberReader): Record<string, unknown> {
  const rest = [...reader.at.members].filter(([key]) => !reader.taken.has(key));
  return Object.fromEntries(rest.map(([key, member]) => [key, plainOf(member)]));
}

export function addProblem(reader: MemberReader, at: { where: string; offset: number }, rule: string): void {
  reader.findings.problems.push({ where: at.where, offset: at.offset, rule });
}

/** `story` is its id; undefined: the warning is about the whole file. */
export function addWarning({ findings }: { findings: Findings }, story: string | undefined, text: string): void {
  findings.warnings.push({ story, text });
}

/** The place of a member that is not there: its object. */
export function missing(object: JsonValue, key: string): { where: string; offset: number } {
  return { where: object.where === '' ? key : `${object.where}.${key}`, offset: object.offset };
}

/** A kind of value with its article, for messages. */
export function nameKind({ kind }: JsonValue): string {
  if (kind === 'object') return 'an object';
  if (kind === 'array') return 'a list';
  return kind === 'null' ? 'null' : `a ${kind}`;
}
