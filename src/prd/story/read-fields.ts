import { oneLine } from '../../lib/text.ts';
import type { DraftStory } from '../dialect.ts';
import { FIELDS, TEXT_FIELD_NAMES, TEXT_FIELDS, type StoryTexts } from '../../core/prd/fields.ts';
import { idTextOf, type JsonValue } from '../json/json-positions.ts';
import {
  addProblem,
  addWarning,
  describeKind,
  findMember,
  markTaken,
  missing,
  take,
  takeText,
  type MemberReader,
} from '../json/object-reader.ts';
import { findIdProblem } from './story-ids.ts';

interface ReadId {
  id: string;
  /** The id in the file; undefined: `id` was generated from the position. */
  ownId: string | undefined;
}

/** Reads the id of a story, or generates one from its position. `key` is its key in a map of stories. */
export function readId(reader: MemberReader, position: number, key?: string): ReadId {
  const placeholder = `item-${position}`;
  const member = take(reader, ...FIELDS.id.keys);
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

/** Reads the title under any known key, or the first line of the description. */
export function readTitle(reader: MemberReader, story: string): string {
  const title = oneLine(takeText(reader, ...FIELDS.title.keys) ?? '');
  if (title !== '') return title;
  const texts = [...FIELDS.description.keys, 'details'].map((key) => findMember(reader.at, key)?.value);
  const text = texts.find((value) => typeof value === 'string' && oneLine(value) !== '');
  const [firstLine = ''] = typeof text === 'string' ? text.trim().split(/\r?\n/) : [];
  if (firstLine !== '') addWarning(reader, story, 'no title; the first line of the description is used');
  else addProblem(reader, missing(reader.at, 'title'), 'is missing, and so is the description');
  return oneLine(firstLine);
}

/** Reads the description under any known key and appends the details. Objects and mixed lists stay in `extra`. */
export function readDescription(reader: MemberReader): string {
  for (const key of [...FIELDS.description.keys, 'details']) {
    const member = findMember(reader.at, key);
    if (member?.kind === 'number' || member?.kind === 'boolean')
      addProblem(reader, member, `must be a string, not ${describeKind(member)}`);
  }
  const description = takeLines(reader, ...FIELDS.description.keys) ?? readUserStory(reader);
  const parts = [description, takeLines(reader, 'details')].filter((part) => part !== undefined && part !== '');
  return parts.join('\n\n');
}

/** Reads a user story: `{as_a, i_want, so_that}` or a string. */
function readUserStory(reader: MemberReader): string | undefined {
  const key = FIELDS.userStory.keys.find((name) => findMember(reader.at, name) !== undefined);
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

/** Reads the optional texts: a string, or a list of strings as lines. Other values stay in `extra`. */
export function readTexts(reader: MemberReader): StoryTexts {
  const texts: StoryTexts = { notes: '' };
  for (const name of TEXT_FIELD_NAMES) {
    const text = takeLines(reader, ...TEXT_FIELDS[name].keys);
    if (text !== undefined) texts[name] = text;
  }
  return texts;
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

const WORDS = [
  ['critical', 'p0', 'highest', 'urgent', 'blocker'],
  ['high', 'p1'],
  ['medium', 'normal', 'p2'],
  ['low', 'p3'],
];

/** Reads the priority of a story, lower first; undefined if it is missing or unknown. */
export function readPriority(reader: MemberReader, story: string): number | undefined {
  const member = take(reader, 'priority');
  if (member === undefined) return undefined;
  const { value } = member;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value !== 'string') {
    addProblem(reader, member, `must be a number, not ${member.kind === 'number' ? 'infinite' : describeKind(member)}`);
    return undefined;
  }
  const word = value.trim().toLowerCase();
  if (/^-?\d+(\.\d+)?$/.test(word)) return Number(word);
  const rank = rankOfWord(word);
  if (rank !== undefined) return rank;
  reader.diagnostics.warnings.push({ story, text: `unknown priority "${value}", so the story runs last` });
  return undefined;
}

/** Maps a priority word to its rank, `critical` is 0; undefined for an unknown word. */
export function rankOfWord(word: string): number | undefined {
  const rank = WORDS.findIndex((words) => words.includes(word.trim().toLowerCase()));
  return rank < 0 ? undefined : rank;
}

type DependencyReferences = DraftStory['dependsOn'];
type Complain = (at: JsonValue, rule: string) => void;

/** Reads the ids of the stories that must be done first, from all dependency keys. */
export function readDependsOn(reader: MemberReader): DependencyReferences {
  const firm = FIELDS.dependsOn.keys.flatMap((key) => {
    const member = findMember(reader.at, key);
    if (member === undefined) return [];
    if (!member.items.some(({ kind }) => kind === 'object')) markTaken(reader, key);
    return readList(member, (at, rule) => addProblem(reader, at, rule));
  });
  // These keys may also name other things, so they stay in `extra` for the agent.
  const loose = FIELDS.looseNeeds.keys.flatMap((key) => {
    const member = findMember(reader.at, key);
    return member === undefined ? [] : readList(member, () => undefined);
  });
  return [...firm, ...loose.map((reference) => ({ ...reference, loose: true as const }))];
}

function readList(member: JsonValue, complain: Complain): DependencyReferences {
  if (member.kind === 'null') return [];
  if (member.kind === 'array') return member.items.flatMap((item) => readReference(item, complain));
  if (member.kind === 'number') return readReference(member, complain);
  if (member.kind !== 'string') {
    complain(member, `must be a list of story ids, not ${describeKind(member)}`);
    return [];
  }
  const ids = (member.value as string).split(',').map((id) => id.trim());
  return ids.filter((id) => !isNone(id)).map((id) => ({ id, at: member }));
}

/** Reads an id, or an object with an id. A link says of which kind it is; only some kinds decide the order. */
function readReference(item: JsonValue, complain: Complain): DependencyReferences {
  const link = findMember(item, 'depends_on_id');
  const kind = (findMember(item, 'type') ?? findMember(item, 'dependency_type'))?.value;
  if (link !== undefined && typeof kind === 'string' && !ORDERING_LINKS.includes(kind)) return [];
  const id = link ?? FIELDS.id.keys.map((key) => findMember(item, key)).find((member) => member !== undefined) ?? item;
  if (id.kind === 'string' || id.kind === 'number') {
    const text = idTextOf(id);
    return isNone(text) ? [] : [{ id: text, at: item }];
  }
  complain(item, `must be a story id, not ${describeKind(item)}`);
  return [];
}

/** Kinds of links of which one issue waits for the other. */
const ORDERING_LINKS = ['blocks', 'conditional-blocks', 'waits-for'];

/** True for words that mean "no dependency". */
export function isNone(reference: string): boolean {
  return reference === '' || /^(?:none|nothing|n\/a|null|[-–—])$/i.test(reference);
}

const TEXT_KEYS = ['text', 'criterion', 'description', 'title'];

/** Reads the acceptance criteria of a story under any known key. No criteria are a warning, a wrong type is a problem. */
export function readAcceptance(reader: MemberReader, story: string): string[] {
  const before = reader.diagnostics.problems.length;
  const criteria = takeCriteria(reader, story);
  if (criteria.length === 0 && reader.diagnostics.problems.length === before)
    addWarning(reader, story, 'no acceptance criteria');
  return criteria;
}

function takeCriteria(reader: MemberReader, story: string): string[] {
  const present = FIELDS.acceptance.keys.filter((name) => isUsable(name, findMember(reader.at, name)));
  const key = present.find((name) => !isEmpty(findMember(reader.at, name))) ?? present[0];
  const member = key === undefined ? undefined : findMember(reader.at, key);
  if (key === undefined || member === undefined) {
    // null is treated like a missing key.
    for (const name of FIELDS.acceptance.keys)
      if (findMember(reader.at, name)?.kind === 'null') markTaken(reader, name);
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
  if (clauses.length > 0) return clauses.join(', ');
  // In YAML, `- Size: at most ten` is an object.
  const [[key, only] = [], ...others] = item.members;
  return others.length === 0 && only?.kind === 'string' ? `${key}: ${String(only.value)}` : undefined;
}

/** Splits a text into lines without bullets. */
function splitText(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => oneLine(line.replace(/^\s*(?:[-*+•]|\d+[.)])\s+/, '')))
    .filter((line) => line !== '');
}
