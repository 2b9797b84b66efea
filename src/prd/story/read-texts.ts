import { toOneLine } from '../../lib/one-line.ts';
import { findMember } from '../json/find-member.ts';
import type { JsonValue } from '../json/json-positions.ts';
import { DESCRIPTION_KEYS, TITLE_KEYS, USER_STORY_KEYS } from '../json/field-aliases.ts';
import {
  addProblem,
  addWarning,
  markTaken,
  missing,
  nameKind,
  takeText,
  type MemberReader,
} from '../json/object-reader.ts';

/** A title in any of its spellings, else the first line of the description. */
export function readTitle(reader: MemberReader, story: string): string {
  const title = toOneLine(takeText(reader, ...TITLE_KEYS) ?? '');
  if (title !== '') return title;
  const texts = [...DESCRIPTION_KEYS, 'details'].map((key) => findMember(reader.at, key)?.value);
  const text = texts.find((value) => typeof value === 'string' && toOneLine(value) !== '');
  const [firstLine = ''] = typeof text === 'string' ? text.trim().split(/\r?\n/) : [];
  if (firstLine !== '') addWarning(reader, story, 'no title, so the first line of the description is taken');
  else addProblem(reader, missing(reader.at, 'title'), 'is missing, and there is no description either');
  return toOneLine(firstLine);
}

/** The description in any of its spellings, with the details below it. Objects and other lists stay as they are. */
export function readDescription(reader: MemberReader): string {
  for (const key of [...DESCRIPTION_KEYS, 'details']) {
    const member = findMember(reader.at, key);
    if (member?.kind === 'number' || member?.kind === 'boolean')
      addProblem(reader, member, `must be a string, not ${nameKind(member)}`);
  }
  const description = takeLines(reader, ...DESCRIPTION_KEYS) ?? readUserStory(reader);
  const parts = [description, takeLines(reader, 'details')].filter((part) => part !== undefined && part !== '');
  return parts.join('\n\n');
}

/** `{as_a, i_want, so_that}`, or the same as text. */
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

/** `isAll`: it says nothing else. */
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

/** A string, or a list of strings as lines; anything else stays as it is. */
export function readNotes(reader: MemberReader): string {
  return takeLines(reader, 'notes') ?? '';
}

/** The text of the first of `keys` that is there; a list of strings is a text of several lines. */
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
