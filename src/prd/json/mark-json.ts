import type { Edit } from './text-edits.ts';
import { findKey, findMember } from './find-member.ts';
import type { JsonValue } from './json-positions.ts';
import type { Mark } from '../dialect.ts';
import { FLAG_KEYS, STARTED_KEYS } from './field-aliases.ts';
import { findFlagKey, findWordKey, isLifeCycleWord, statusOfWord } from '../story/read-status.ts';
import { setMembers } from './set-members.ts';
import { doneWordLike, mostOf } from '../story/done-word.ts';

export interface MarkOptions {
  text: string;
  /** All stories of the file: they show how it speaks of progress. */
  stories: JsonValue[];
  /** Those of them that are done. */
  done: JsonValue[];
  /** The word of the dialect, where the file shows none. */
  doneWord: string;
}

/** Sets the flag and the word that a story has; one that has neither gets what the others have, or else `passes`. */
export function markJson(story: JsonValue, options: MarkOptions): Edit[] {
  const flag = memberAt(story, findFlagKey(story));
  const word = memberAt(story, findWordKey(story));
  const edits = [
    ...(flag === undefined ? [] : [replace(flag, flagLike(flag, options))]),
    ...(word === undefined || !isProgress(word, flag) ? [] : [replace(word, JSON.stringify(wordLike(options)))]),
  ];
  const started = STARTED_KEYS.flatMap((key) => findMember(story, key) ?? []).filter(({ value }) => value === true);
  const marks = edits.length > 0 ? edits : setMembers(story, fieldLike(options), options.text);
  return [...marks, ...started.map((each) => replace(each, 'false'))];
}

/** Sets the first flag for stories under way that a story has; one without any stays as it is. */
export function markStarted(mark: Mark): Edit[] {
  const flags = mark.kind === 'json' ? STARTED_KEYS.flatMap((key) => findMember(mark.at, key) ?? []) : [];
  const [flag] = flags.filter(({ kind }) => kind === 'boolean');
  return flag === undefined || flag.value === true ? [] : [replace(flag, 'true')];
}

function memberAt(story: JsonValue, key: string | undefined): JsonValue | undefined {
  return key === undefined ? undefined : findMember(story, key);
}

function replace({ offset, end }: JsonValue, text: string): Edit {
  return { from: offset, to: end, text };
}

/** A word that says nothing of progress stays, unless there is nothing else that could. */
function isProgress(word: JsonValue, flag: JsonValue | undefined): boolean {
  if (word.kind !== 'string') return word.kind === 'null' && flag === undefined;
  const text = word.value as string;
  if (isLifeCycleWord(text)) return text.trim() === '' && flag === undefined;
  return statusOfWord(text) !== 'done';
}

/** Flags that are texts stay texts. */
function flagLike(flag: JsonValue, { done }: MarkOptions): string {
  if (flag.kind !== 'string') return 'true';
  const known = done
    .flatMap((story) => FLAG_KEYS.map((key) => findMember(story, key)?.value))
    .find((value) => typeof value === 'string');
  return JSON.stringify(known ?? 'true');
}

/** The field by which most stories of the file say how far they are, those that are done first. */
function fieldLike(options: MarkOptions): Record<string, unknown> {
  const { stories, done } = options;
  const key = mostOf(done.flatMap(fieldOf)) ?? mostOf(stories.flatMap(fieldOf)) ?? 'passes';
  const isFlag = stories.some((story) => spelled(story, findFlagKey(story)) === key);
  return { [key]: isFlag || key === 'passes' ? true : wordLike(options) };
}

/** The key, as it is spelled there. */
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
  return doneWordLike(
    words.filter((word) => typeof word === 'string'),
    doneWord,
  );
}
