import { toOneLine } from '../lib/one-line.ts';
import type { JsonValue } from './json.ts';
import { DESCRIPTION_KEYS, TITLE_KEYS } from './keys.ts';
import { addProblem, addWarning, missing, takeText, type MemberReader } from './members.ts';

/** A title in any of its spellings, else the first line of the description. */
export function readTitle(reader: MemberReader, story: string): string {
  const title = toOneLine(takeText(reader, ...TITLE_KEYS) ?? '');
  if (title !== '') return title;
  const texts = [...DESCRIPTION_KEYS, 'details'].map((key) => reader.at.members.get(key)?.value);
  const text = texts.find((value) => typeof value === 'string' && toOneLine(value) !== '');
  const [firstLine = ''] = typeof text === 'string' ? text.trim().split(/\r?\n/) : [];
  if (firstLine !== '') addWarning(reader, story, 'no title, so the first line of the description is taken');
  else addProblem(reader, missing(reader.at, 'title'), 'is missing, and there is no description either');
  return toOneLine(firstLine);
}

/** The description in any of its spellings, with the details below it. */
export function readDescription(reader: MemberReader): string {
  const description = takeText(reader, ...DESCRIPTION_KEYS) ?? readUserStory(reader);
  const parts = [description, takeText(reader, 'details')].filter((part) => part !== undefined && part !== '');
  return parts.join('\n\n');
}

/** `{as_a, i_want, so_that}`, or the same as text. */
function readUserStory(reader: MemberReader): string | undefined {
  const member = reader.at.members.get('user_story') ?? reader.at.members.get('userStory');
  if (member === undefined) return undefined;
  const sentence = member.kind === 'string' ? (member.value as string) : toSentence(member);
  if (sentence !== '') reader.taken.add(reader.at.members.has('user_story') ? 'user_story' : 'userStory');
  return sentence;
}

function toSentence({ members }: JsonValue): string {
  const clauses = [
    ['As a', 'as_a', 'asA'],
    ['I want', 'i_want', 'iWant'],
    ['so that', 'so_that', 'soThat'],
  ].flatMap(([words = '', ...keys]) => {
    const value = keys.map((key) => members.get(key)?.value).find((each) => typeof each === 'string');
    return typeof value === 'string' && value.trim() !== '' ? [`${words} ${value.trim()}`] : [];
  });
  return clauses.join(', ');
}

/** A string, or a list of strings as lines; anything else stays as it is. */
export function readNotes(reader: MemberReader, story: string): string {
  const member = reader.at.members.get('notes');
  if (member === undefined || member.kind === 'null' || member.kind === 'string')
    return takeText(reader, 'notes') ?? '';
  const lines = member.items.map(({ value }) => value);
  if (member.kind === 'array' && lines.every((line) => typeof line === 'string')) {
    reader.taken.add('notes');
    return lines.join('\n');
  }
  addWarning(reader, story, 'notes that are no text are not used');
  return '';
}
