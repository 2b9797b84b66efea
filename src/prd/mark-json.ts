import type { Edit } from './edits.ts';
import type { JsonValue } from './json.ts';
import type { Mark } from './dialect.ts';
import { FLAG_KEYS, STARTED_KEYS, STATUS_KEY } from './keys.ts';
import { isLifeCycleWord, statusOfWord } from './read-status.ts';
import { setMembers } from './set-members.ts';

export interface MarkOptions {
  text: string;
  /** The stories of the file that are done: they show how it says so. */
  done: JsonValue[];
  /** The word of the dialect, where the file shows none. */
  doneWord: string;
}

/** Sets the flag and the word that a story has; one that has neither gets `passes`. */
export function markJson(story: JsonValue, options: MarkOptions): Edit[] {
  const flag = FLAG_KEYS.flatMap((key) => story.members.get(key) ?? [])[0];
  const word = story.members.get(STATUS_KEY);
  const edits = [
    ...(flag === undefined ? [] : [replace(flag, flagLike(flag, options))]),
    ...(word === undefined || !isProgress(word, flag) ? [] : [replace(word, JSON.stringify(wordLike(options)))]),
  ];
  const started = STARTED_KEYS.flatMap((key) => story.members.get(key) ?? []).filter(({ value }) => value === true);
  const marks = edits.length > 0 ? edits : setMembers(story, { passes: true }, options.text);
  return [...marks, ...started.map((each) => replace(each, 'false'))];
}

/** Sets the first flag for stories under way that a story has; one without any stays as it is. */
export function markStarted(mark: Mark): Edit[] {
  const flags = mark.kind === 'json' ? STARTED_KEYS.flatMap((key) => mark.at.members.get(key) ?? []) : [];
  const [flag] = flags.filter(({ kind }) => kind === 'boolean');
  return flag === undefined || flag.value === true ? [] : [replace(flag, 'true')];
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
  const key = FLAG_KEYS.find((name) => done.some(({ members }) => members.get(name)?.kind === 'string'));
  const known = done.map(({ members }) => members.get(key ?? '')?.value).find((value) => typeof value === 'string');
  return JSON.stringify(known ?? 'true');
}

/** The word that most stories of the file use for done. */
function wordLike({ done, doneWord }: MarkOptions): string {
  const counts = new Map<string, number>();
  for (const { members } of done) {
    const word = members.get(STATUS_KEY)?.value;
    if (typeof word === 'string' && statusOfWord(word) === 'done') counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, a], [, b]) => b - a);
  return most?.[0] ?? doneWord;
}
