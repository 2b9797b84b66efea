import type { ProgressMark } from '../dialect.ts';
import {
  chooseDoneWord,
  findFlagKey,
  findWordKey,
  isLifeCycleWord,
  mostFrequent,
  statusOfWord,
} from '../story/read-status.ts';
import { FIELDS } from '../../core/prd/fields.ts';
import type { JsonValue } from './json-positions.ts';
import { findKey, findMember } from './object-reader.ts';

interface MarkOptions {
  text: string;
  isYaml: boolean;
  /** All stories of the file, to find the field and the words that it uses. */
  stories: JsonValue[];
  /** The done stories. */
  done: JsonValue[];
  /** The dialect's word for done, if the file uses none. */
  doneWord: string;
}

/** Sets the flag and the status word of a story; if it has neither, adds the field that the other stories use, or `passes`. */
export function markJson(story: JsonValue, options: MarkOptions): Edit[] {
  const flag = memberAt(story, findFlagKey(story));
  const word = memberAt(story, findWordKey(story));
  const edits = [
    ...(flag === undefined ? [] : repeated(flag).map((each) => replace(each, flagLike(each, options)))),
    ...(word === undefined || !isProgress(word, flag)
      ? []
      : repeated(word).map((each) => replaceWord(each, wordLike(options), options))),
  ];
  const started = FIELDS.started.keys
    .flatMap((key) => findMember(story, key) ?? [])
    .filter(({ value }) => value === true);
  const marks = edits.length > 0 ? edits : addField(story, options);
  return [...marks, ...started.map((each) => replace(each, 'false'))];
}

/** The values of a story that say how far it is: its flag and its word. */
export function progressOf(story: JsonValue): JsonValue[] {
  return [findFlagKey(story), findWordKey(story)].flatMap((key) => memberAt(story, key) ?? []);
}

/** Sets the first in-progress flag of a story; a story without such a flag is unchanged. */
export function markStarted(mark: ProgressMark): Edit[] {
  const flags = mark.kind === 'json' ? FIELDS.started.keys.flatMap((key) => findMember(mark.at, key) ?? []) : [];
  const [flag] = flags.filter(({ kind }) => kind === 'boolean');
  return flag === undefined || flag.value === true ? [] : [replace(flag, 'true')];
}

/** A value, and those of the same key before it. */
function repeated(value: JsonValue): JsonValue[] {
  const all: JsonValue[] = [];
  for (let at: JsonValue | undefined = value; at !== undefined; at = at.earlier) all.push(at);
  return all;
}

/** A word is written as the one before it was: in quotes, or in YAML without. */
export function replaceWord(word: JsonValue, text: string, options: Pick<MarkOptions, 'text' | 'isYaml'>): Edit {
  if (!options.isYaml) return replace(word, JSON.stringify(text));
  const [quote = ''] = /^["']/.exec(options.text.slice(word.offset, word.end)) ?? [];
  // Behind `status:` without a value, there may be no space.
  const space = word.offset === word.end && options.text[word.offset - 1] === ':' ? ' ' : '';
  return replace(word, `${space}${quote}${text}${quote}`);
}

function addField(story: JsonValue, options: MarkOptions): Edit[] {
  const field = fieldLike(options);
  return options.isYaml ? addYamlMember(story, field, options.text) : setMembers(story, field, options.text);
}

/** Adds a member to an object in YAML, below its last one, or inside of its braces. */
function addYamlMember(object: JsonValue, field: Record<string, unknown>, text: string): Edit[] {
  const [[key, value] = ['', '']] = Object.entries(field);
  const existing = object.members.get(key);
  if (existing !== undefined) return [{ from: existing.offset, to: existing.end, text: String(value) }];
  const members = [...object.members.values()];
  const [first, last] = [members[0], members.at(-1)];
  if (text[object.offset] === '{' || first === undefined || last === undefined) {
    const at = last?.end ?? object.offset + 1;
    return [{ from: at, to: at, text: `${last === undefined ? '' : ', '}${key}: ${String(value)}` }];
  }
  const start = first.keyOffset ?? first.offset;
  const column = start - (text.lastIndexOf('\n', start - 1) + 1);
  const line = `${' '.repeat(column)}${key}: ${String(value)}`;
  if (text[last.end - 1] === '\n')
    return [{ from: last.end, to: last.end, text: `${line}${lineEndAt(text, last.end - 1)}` }];
  const end = text.indexOf('\n', last.end);
  const at = end < 0 ? text.length : text[end - 1] === '\r' ? end - 1 : end;
  return [{ from: at, to: at, text: `${end < 0 ? '\n' : lineEndAt(text, end)}${line}` }];
}

function lineEndAt(text: string, newline: number): string {
  return text[newline - 1] === '\r' ? '\r\n' : '\n';
}

function memberAt(story: JsonValue, key: string | undefined): JsonValue | undefined {
  return key === undefined ? undefined : findMember(story, key);
}

function replace({ offset, end }: JsonValue, text: string): Edit {
  return { from: offset, to: end, text };
}

/** True if the status word is to be replaced. Life-cycle words stay, unless the word is empty and there is no flag. */
function isProgress(word: JsonValue, flag: JsonValue | undefined): boolean {
  if (word.kind !== 'string') return word.kind === 'null' && flag === undefined;
  const text = word.value as string;
  if (isLifeCycleWord(text)) return text.trim() === '' && flag === undefined;
  return statusOfWord(text) !== 'done';
}

/** String flags stay strings. */
function flagLike(flag: JsonValue, { done }: MarkOptions): string {
  if (flag.kind !== 'string') return 'true';
  const known = done
    .flatMap((story) => FIELDS.flag.keys.map((key) => findMember(story, key)?.value))
    .find((value) => typeof value === 'string');
  return JSON.stringify(known ?? 'true');
}

/** The progress field that most stories use; done stories take precedence. */
function fieldLike(options: MarkOptions): Record<string, unknown> {
  const { stories, done } = options;
  const key = mostFrequent(done.flatMap(fieldOf)) ?? mostFrequent(stories.flatMap(fieldOf)) ?? 'passes';
  const isFlag = stories.some((story) => spelled(story, findFlagKey(story)) === key);
  return { [key]: isFlag || key === 'passes' ? true : wordLike(options) };
}

/** The key of the progress field of a story, in its actual spelling. */
function fieldOf(story: JsonValue): string[] {
  const word = memberAt(story, findWordKey(story));
  const ofWord = word?.kind === 'string' && !isLifeCycleWord(word.value as string) ? findWordKey(story) : undefined;
  const flag = findFlagKey(story);
  const ofFlag = memberAt(story, flag)?.kind === 'boolean' ? flag : undefined;
  return [spelled(story, ofFlag ?? ofWord)].flatMap((key) => key ?? []);
}

function spelled(story: JsonValue, key: string | undefined): string | undefined {
  return key === undefined ? undefined : findKey(story, key);
}

function wordLike({ stories, doneWord }: MarkOptions): string {
  const words = stories.map((story) => memberAt(story, findWordKey(story))?.value);
  return chooseDoneWord(
    words.filter((word) => typeof word === 'string'),
    doneWord,
  );
}

/**
 * Returns the edits that set these members of an object. Existing values are replaced; new members are appended with the
 * same white space as the last one. `modify` of jsonc-parser prints a new member in a style of its own, or formats the
 * members that are there, and reads the text again for each edit.
 */
export function setMembers(object: JsonValue, values: Record<string, unknown>, text: string): Edit[] {
  const style = styleOf(object, text);
  const replaced: Edit[] = [];
  const added: string[] = [];
  for (const [key, value] of Object.entries(values)) {
    const there = object.members.get(key);
    const json = print(value, style.space);
    if (there === undefined) added.push(`${style.space}${JSON.stringify(key)}:${style.gap}${json}`);
    else replaced.push({ from: there.offset, to: there.end, text: json });
  }
  if (added.length === 0) return replaced;
  if (style.lastEnd !== undefined)
    return [...replaced, { from: style.lastEnd, to: style.lastEnd, text: `,${added.join(',')}` }];
  return [...replaced, { from: object.offset + 1, to: object.end - 1, text: added.join(',') }];
}

interface Style {
  /** White space between comma and key. */
  space: string;
  /** White space between colon and value. */
  gap: string;
  /** Offset after the last member; undefined: the object is empty. */
  lastEnd?: number;
}

function styleOf({ members }: JsonValue, text: string): Style {
  const [first, ...others] = members.values();
  if (first === undefined) return { space: '', gap: '' };
  const last = others.reduce((a, b) => (b.end > a.end ? b : a), first);
  const key = last.keyOffset ?? last.offset;
  const before = text.slice(0, key);
  const colon = text.slice(key, last.offset);
  return {
    space: before.slice(before.trimEnd().length),
    gap: colon.slice(colon.lastIndexOf(':') + 1),
    lastEnd: last.end,
  };
}

/** Prints on several lines if the members are on separate lines. */
function print(value: unknown, space: string): string {
  if (!space.includes('\n')) return JSON.stringify(value);
  const indent = space.slice(space.lastIndexOf('\n') + 1);
  return JSON.stringify(value, null, indent.startsWith('\t') ? '\t' : '  ').replaceAll('\n', `\n${indent}`);
}

/** Replaces the characters from `from` (inclusive) to `to` (exclusive) with `text`. */
export interface Edit {
  from: number;
  to: number;
  text: string;
}

/** Applies edits to a text. They must not overlap. */
export function applyEdits(text: string, edits: Edit[]): string {
  const pieces: string[] = [];
  let at = 0;
  // Of two at the same place, the later one comes first.
  for (const { from, to, text: inserted } of [...edits].sort((a, b) => b.from - a.from).reverse()) {
    pieces.push(text.slice(at, from), inserted);
    at = to;
  }
  return pieces.join('') + text.slice(at);
}
