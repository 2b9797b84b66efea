import { STORY_KEYS } from '../../core/prd/fields.ts';
import type { Diagnostics, Remark } from '../diagnostics.ts';
import * as keys from './field-aliases.ts';
import { plainOf, type JsonValue } from './json-positions.ts';

/** Reads members of one object and records which were read; the others are its `extra`. */
export interface MemberReader {
  at: JsonValue;
  diagnostics: Diagnostics;
  taken: Set<string>;
}

export function readMembers(at: JsonValue, diagnostics: Diagnostics): MemberReader {
  return { at, diagnostics, taken: new Set() };
}

/** Takes the first of `keys` that is present and not null; later ones stay in `extra`. */
export function take(reader: MemberReader, ...keys: string[]): JsonValue | undefined {
  for (const key of keys) {
    const member = findMember(reader.at, key);
    if (member === undefined) continue;
    markTaken(reader, key);
    if (member.kind !== 'null') return member;
  }
  return undefined;
}

/** Marks the member under a known key as read. */
export function markTaken(reader: MemberReader, key: string): void {
  reader.taken.add(findKey(reader.at, key) ?? key);
}

/** Takes the text of the first of `keys` that is present; other types are a problem. */
export function takeText(reader: MemberReader, ...keys: string[]): string | undefined {
  const member = take(reader, ...keys);
  if (member === undefined) return undefined;
  if (member.kind === 'string') return member.value as string;
  addProblem(reader, member, `must be a string, not ${describeKind(member)}`);
  return undefined;
}

/** Takes the text of a required member; a missing or blank one is a problem. */
export function takeRequiredText(reader: MemberReader, key: string): string {
  const text = takeText(reader, key);
  const member = findMember(reader.at, key);
  if (member === undefined || member.kind === 'null') addProblem(reader, missing(reader.at, key), 'is missing');
  else if (text?.trim() === '') addProblem(reader, member, 'is empty');
  return text ?? '';
}

/** Returns all members that were not read, unchanged. */
export function readExtra(reader: MemberReader): Record<string, unknown> {
  const rest = [...reader.at.members].filter(([key]) => !reader.taken.has(key));
  return Object.fromEntries(rest.map(([key, member]) => [key, plainOf(member)]));
}

export function addProblem(reader: MemberReader, at: { where: string; offset: number }, rule: string): void {
  reader.diagnostics.problems.push({ where: at.where, offset: at.offset, rule });
}

/** `story` is the id of the story; undefined: the warning concerns the whole file. */
export function addWarning(
  { diagnostics }: { diagnostics: Diagnostics },
  story: string | undefined,
  remark: string | Remark,
): void {
  diagnostics.warnings.push({ story, ...(typeof remark === 'string' ? { text: remark } : remark) });
}

/** The location to report for a missing member: that of its object. */
export function missing(object: JsonValue, key: string): { where: string; offset: number } {
  return { where: object.where === '' ? key : `${object.where}.${key}`, offset: object.offset };
}

/** A value kind with its article, for messages. */
export function describeKind({ kind }: JsonValue): string {
  if (kind === 'object') return 'an object';
  if (kind === 'array') return 'a list';
  return kind === 'null' ? 'null' : `a ${kind}`;
}

const KNOWN = new Set([...STORY_KEYS, ...Object.values(keys).flat()]);
const KNOWN_BY_FORM = new Map([...KNOWN].reverse().map((key) => [formOf(key), key]));

const found = new WeakMap<JsonValue, ReadonlyMap<string, string>>();

/** Finds a member by a known key in any spelling; the exact spelling takes precedence. */
export function findMember(object: JsonValue, key: string): JsonValue | undefined {
  return object.members.get(findKey(object, key) ?? key);
}

/** Finds the actual spelling of a known key in an object; undefined if there is no such member. */
export function findKey(object: JsonValue, key: string): string | undefined {
  if (object.members.has(key)) return key;
  let spellings = found.get(object);
  if (spellings === undefined) {
    spellings = new Map([...object.members.keys()].reverse().flatMap((spelled) => spellingOf(spelled)));
    found.set(object, spellings);
  }
  return spellings.get(key);
}

/** Maps a key to its known spelling (`Acceptance Criteria` to `acceptanceCriteria`). Other keys are returned unchanged. */
export function canonicalKey(spelled: string): string {
  return KNOWN.has(spelled) ? spelled : (KNOWN_BY_FORM.get(formOf(spelled)) ?? spelled);
}

function spellingOf(spelled: string): [string, string][] {
  const known = canonicalKey(spelled);
  return known === spelled ? [] : [[known, spelled]];
}

function formOf(key: string): string {
  return key
    .slice(0, 60)
    .toLowerCase()
    .replace(/[\s_-]+/g, '');
}
