import type { StoryStatus } from '../../core/prd/prd.ts';
import { capitalize } from '../../lib/text.ts';
import { FIELDS } from '../../core/prd/fields.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { JsonValue } from '../json/json-positions.ts';
import {
  addProblem,
  addWarning,
  describeKind,
  findMember,
  markTaken,
  take,
  type MemberReader,
} from '../json/object-reader.ts';

const WORDS: Record<Exclude<StoryStatus, 'pending'>, string[]> = {
  done: 'done complete completed passing passed closed finished merged implemented resolved shipped'.split(' '),
  in_progress: 'inprogress started doing wip review inreview readyforqa hooked'.split(' '),
  blocked: 'blocked onhold waiting paused suspended'.split(' '),
  skipped: 'deferred cancelled canceled superseded abandoned obsolete wontfix wontdo dropped postponed skipped'.split(
    ' ',
  ),
};
const PENDING_WORDS =
  'pending todo open new planned backlog ready notstarted unstarted needsfix failed incomplete notdone readyfordev drafted'.split(
    ' ',
  );

/**
 * Reads the status of a story. If there is a flag (`passes`, …), the flag decides whether the story is done; the status
 * word only distinguishes stories that are not.
 */
export function readStatus(reader: MemberReader, story: string): StoryStatus {
  const flag = readFlag(reader, story);
  const word = readWord(reader, story);
  const skip = takeSwitches(reader, FIELDS.skip.keys);
  const started = takeSwitches(reader, FIELDS.started.keys);
  const successor = findMember(reader.at, 'supersededBy')?.value;
  if (flag === true) {
    if (word !== undefined && word !== 'done')
      addWarning(reader, story, 'the flag is done but the status is not; treated as done');
    return 'done';
  }
  if (flag === false && word === 'done') {
    addWarning(reader, story, 'the status is done but the flag is not; treated as not done');
  } else if (word === 'done') return 'done';
  if (skip) return 'skipped';
  if (typeof successor === 'string' && successor.trim() !== '') {
    addWarning(reader, story, 'supersededBy names another story; skipped');
    return 'skipped';
  }
  if (started) return 'in_progress';
  return word === undefined || word === 'done' ? 'pending' : word;
}

/** Finds the key of the flag that records whether a story is done; undefined if there is none. */
export function findFlagKey(story: JsonValue): string | undefined {
  const isBoolean = (key: string) => findMember(story, key)?.kind === 'boolean';
  return (
    FIELDS.flag.keys.find((key) => findMember(story, key) !== undefined) ?? FIELDS.booleanFlag.keys.find(isBoolean)
  );
}

/** Finds the key of the status word of a story; undefined if there is none. */
export function findWordKey(story: JsonValue): string | undefined {
  const keys = FIELDS.status.keys.filter((key) => key !== 'progress' || isKnownWord(findMember(story, key)?.value));
  const kinds = keys.map((key) => [key, findMember(story, key)?.kind] as const);
  // `state` may mean something else, such as a state machine.
  const found = kinds.find(
    ([key, kind]) => kind === 'string' || (key === 'status' && kind !== undefined && kind !== 'null'),
  );
  return (found ?? kinds.find(([key, kind]) => key === 'status' && kind === 'null'))?.[0];
}

function isKnownWord(value: unknown): boolean {
  return typeof value === 'string' && statusOfWord(value) !== undefined;
}

/** Returns undefined if the story has no flag. `null` counts as not done. */
function readFlag(reader: MemberReader, story: string): boolean | undefined {
  const key = findFlagKey(reader.at);
  const flag = key === undefined ? undefined : findMember(reader.at, key);
  if (key === undefined || flag === undefined) return undefined;
  // When it was done; the agent gets it.
  if (isDate(flag)) return true;
  markTaken(reader, key);
  const contradicting = [...FIELDS.flag.keys, ...FIELDS.booleanFlag.keys].filter((name) => {
    const other = name === key ? undefined : findMember(reader.at, name);
    return other?.kind === 'boolean' && isTrue(other) !== isTrue(flag);
  });
  if (contradicting.length > 0) addWarning(reader, story, `${key} is used, ${contradicting.join(', ')} is ignored`);
  if (flag.kind === 'boolean') return flag.value as boolean;
  if (flag.kind === 'null') return false;
  if (flag.kind === 'string') {
    const done = ['true', 'yes', 'done'].includes((flag.value as string).trim().toLowerCase());
    addWarning(reader, story, `${key} is a string, treated as ${done ? 'done' : 'not done'}`);
    return done;
  }
  addProblem(reader, flag, `must be true or false, not ${describeKind(flag)}`);
  return false;
}

function isDate({ kind, value }: JsonValue): boolean {
  return kind === 'string' && /^\s*\d{4}-\d{2}-\d{2}(?!\d)/.test(value as string);
}

function readWord(reader: MemberReader, story: string): StoryStatus | undefined {
  const key = findWordKey(reader.at);
  const found = key === undefined ? undefined : findMember(reader.at, key);
  const saysMore = found?.kind === 'string' && saysMoreThanStatus(found.value as string);
  const member = key === undefined || saysMore ? found : take(reader, key);
  if (member === undefined) return undefined;
  if (member.kind !== 'string') {
    addProblem(reader, member, `must be a string, not ${describeKind(member)}`);
    return undefined;
  }
  const text = member.value as string;
  const status = statusOfWord(text);
  for (const other of FIELDS.status.keys.filter((name) => name !== key)) {
    const said = statusOfWord(String(findMember(reader.at, other)?.value));
    if (said !== undefined && said !== status) addWarning(reader, story, `${key} is used, ${other} is ignored`);
  }
  return readStatusWord(text, story, reader.diagnostics);
}

/** The status that a text names; undefined if it is about the life cycle of a document. Any other text is pending, with a warning. */
export function readStatusWord(text: string, story: string, diagnostics: Diagnostics): StoryStatus | undefined {
  const status = statusOfWord(text);
  if (status !== undefined || isLifeCycleWord(text)) return status;
  addWarning({ diagnostics }, story, `unknown status "${text}", treated as pending`);
  return 'pending';
}

/** The text before an explanation: `Done` for `Done (in #12)`. */
export function leadOf(text: string): string {
  return (text.split(/\s[-–—]\s|[(,;:]/)[0] ?? '').trim();
}

/** True if a status is more than a known word; the agent then gets its full text. */
export function saysMoreThanStatus(text: string): boolean {
  return leadOf(text) !== text.trim() || (statusOfWord(text) === undefined && !isLifeCycleWord(text));
}

/** Maps a status word in any spelling, with or without an explanation, to a status; undefined if it is unknown. */
export function statusOfWord(text: string): StoryStatus | undefined {
  for (const word of [bare(text), bare(leadOf(text))]) {
    if (PENDING_WORDS.includes(word)) return 'pending';
    for (const [status, words] of Object.entries(WORDS)) if (words.includes(word)) return status as StoryStatus;
  }
  return bare(text) === '' && /[✅✔☑]/u.test(text) ? 'done' : undefined;
}

/** True if a status word describes the life cycle of a document rather than progress. */
export function isLifeCycleWord(text: string): boolean {
  return text.trim() === '' || bare(text) === 'active';
}

function bare(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** True if one of the keys is true. Values that are not booleans stay in `extra`. */
function takeSwitches(reader: MemberReader, keys: readonly string[]): boolean {
  const switches = keys.filter((key) => findMember(reader.at, key)?.kind === 'boolean');
  return switches.map((key) => isTrue(take(reader, key))).includes(true);
}

function isTrue(member: JsonValue | undefined): boolean {
  return member?.value === true;
}

/** The word that the file uses most often for done; if it uses none, `doneWord` in the letter case of its other words. */
export function chooseDoneWord(words: string[], doneWord: string): string {
  const most = mostFrequent(words.filter((word) => statusOfWord(word) === 'done'));
  if (most !== undefined) return most;
  const others = words.filter((word) => !isLifeCycleWord(word));
  if (others.length === 0) return doneWord;
  if (others.every((word) => /\p{Lu}/u.test(word) && !/\p{Ll}/u.test(word))) return doneWord.toUpperCase();
  const isCapital = others.every((word) => /^[^\p{L}]*\p{Lu}/u.test(word));
  return isCapital ? capitalize(doneWord) : doneWord;
}

/** The most frequent value; the first of several. */
export function mostFrequent(values: string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [most] = [...counts].sort(([, a], [, b]) => b - a);
  return most?.[0];
}
