import { oneLine } from '../../lib/text.ts';
import { findMember } from '../json/find-member.ts';
import type { JsonValue } from '../json/json-positions.ts';
import { DESCRIPTION_KEYS, TITLE_KEYS, USER_STORY_KEYS } from '../json/field-aliases.ts';
import {
  addProblem,
  addWarning,
  markTaken,
  missing,
  describeKind,
  takeText,
  type MemberReader,
} from '../json/object-reader.ts';

/** Reads the title under any known key, or the first line of the description. */
export function readTitle(reader: MemberReader, story: string): string {
  const title = oneLine(takeText(reader, ...TITLE_KEYS) ?? '');
  if (title !== '') return title;
  const texts = [...DESCRIPTION_KEYS, 'details'].map((key) => findMember(reader.at, key)?.value);
  const text = texts.find((value) => typeof value === 'string' && oneLine(value) !== '');
  const [firstLine = ''] = typeof text === 'string' ? text.trim().split(/\r?\n/) : [];
  if (firstLine !== '') addWarning(reader, story, 'no title; the first line of the description is used');
  else addProblem(reader, missing(reader.at, 'title'), 'is missing, and so is the description');
  return oneLine(firstLine);
}

/** Reads the description under any known key and appends the details. Objects and mixed lists stay in `extra`. */
export function readDescription(reader: MemberReader): string {
  for (const key of [...DESCRIPTION_KEYS, 'details']) {
    const member = findMember(reader.at, key);
    if (member?.kind === 'number' || member?.kind === 'boolean')
      addProblem(reader, member, `must be a string, not ${describeKind(member)}`);
  }
  const description = takeLines(reader, ...DESCRIPTION_KEYS) ?? readUserStory(reader);
  const parts = [description, takeLines(reader, 'details')].filter((part) => part !== undefined && part !== '');
  return parts.join('\n\n');
}

/** Reads a user story: `{as_a, i_want, so_that}` or a string. */
function readUserStory(reader: MemberReader): string | undefined {
  const key = USER_STORY_KEYS.find((name) => findMember(reader.at, name) !== undefined);
  const member = key === undefined ? undefined : findMember(reader.at, key);
  if (key === undefined || member === undefined) return undefined;
  const { sentence, isAll } = member.kind === 'string' ? wholeText(member) : toSentence(member);
  if (isAll) markTaken(reader, key);
  return sentence;
}

function wholeText({ value }: JsonValue): { sentence: string; isAll: boolean } {
  return { sentence: value as string, isAll: true };
}

/** `isAll`: the object has no other members. */
function toSentence(member: JsonValue): { sentence: string; isAll: boolean } {
  const clauses = [
    ['As a', 'as_a', 'asA'],
    ['I want', 'i_want', 'iWant'],
    ['so that', 'so_that', 'soThat'],
  ].flatMap(([words = '', ...keys]) => {
    const value = keys.map((key) => member.members.get(key)?.value).find((each) => typeof each === 'string');
    return typeof value === 'string' && value.trim() !== '' ? [`${words} ${value.trim()}`] : [];
  });
  return { sentence: clauses.join(', '), isAll: clauses.length > 0 && clauses.length === member.members.size };
}

/** Reads the notes: a string, or a list of strings as lines. Other values stay in `extra`. */
export function readNotes(reader: MemberReader): string {
  return takeLines(reader, 'notes') ?? '';
}

/** The text under the first of `keys` that exists; a list of strings is joined as lines. */
function takeLines(reader: MemberReader, ...keys: string[]): string | undefined {
  const key = keys.find((name) => isText(findMember(reader.at, name)));
  const member = key === undefined ? undefined : findMember(reader.at, key);
  if (key === undefined || member === undefined) return undefined;
  markTaken(reader, key);
  return member.kind === 'array' ? member.items.map(({ value }) => value).join('\n') : (member.value as string);
}

function isText(member: JsonValue | undefined): boolean {
  if (member?.kind === 'array') return member.items.every(({ kind }) => kind === 'string');
  return member?.kind === 'string';
}

/** Returns a title on one line without strikethrough marks. `isDropped`: the whole title was struck through. */
export function parseStruckThrough(text: string): { title: string; isDropped: boolean } {
  const line = oneLine(text);
  const struck = /^~~([^~]+)~~[.:]?$/.exec(line)?.[1];
  return struck === undefined ? { title: line, isDropped: false } : { title: struck.trim(), isDropped: true };
}

/** Returns a text without the strikethrough marks around its beginning: `T9 text` for `~~T9~~ text`. */
export function withoutStrike(text: string): string {
  const [all, struck = ''] = /^~~([^~]+)~~/.exec(text) ?? [];
  return all === undefined ? text : `${struck.trim()}${text.slice(all.length)}`;
}

/** The warning for a story with a struck-through title. */
export const STRUCK = 'the title is struck through, so the story is skipped';
