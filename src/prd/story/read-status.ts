import type { StoryStatus } from '../../core/prd/prd.ts';
import { findMember } from '../json/find-member.ts';
import type { JsonValue } from '../json/json-positions.ts';
import { BOOLEAN_FLAG_KEYS, FLAG_KEYS, SKIP_KEYS, STARTED_KEYS, STATUS_KEYS } from '../json/field-aliases.ts';
import { addProblem, addWarning, markTaken, nameKind, take, type MemberReader } from '../json/object-reader.ts';

const WORDS: Record<Exclude<StoryStatus, 'pending'>, string[]> = {
  done: 'done complete completed passing passed closed finished merged implemented resolved shipped'.split(' '),
  in_progress: 'inprogress started doing wip review inreview readyforqa'.split(' '),
  blocked: 'blocked onhold waiting'.split(' '),
  skipped: 'deferred cancelled canceled superseded obsolete wontfix wontdo dropped postponed skipped'.split(' '),
};
const PENDING_WORDS =
  'pending todo open new planned backlog ready notstarted unstarted needsfix failed incomplete notdone'.split(' ');

/**
 * The status of a story. A flag (`passes`, …) alone decides whether it is done;
 * the status word only refines a story that is not.
 */
export function readStatus(reader: MemberReader, story: string): StoryStatus {
  const flag = readFlag(reader, story);
  const word = readWord(reader, story);
  const skip = takeSwitches(reader, SKIP_KEYS);
  const started = takeSwitches(reader, STARTED_KEYS);
  const successor = findMember(reader.at, 'supersededBy')?.value;
  if (flag === true) {
    if (word !== undefined && word !== 'done')
      addWarning(reader, story, 'the flag says done and the status does not; done');
    return 'done';
  }
  if (flag === false && word === 'done') {
    addWarning(reader, story, 'the status says done and the flag does not; not done');
  } else if (word === 'done') return 'done';
  if (skip) return 'skipped';
  if (typeof successor === 'string' && successor.trim() !== '') {
    addWarning(reader, story, 'supersededBy names another story; skipped');
    return 'skipped';
  }
  if (started) return 'in_progress';
  return word === undefined || word === 'done' ? 'pending' : word;
}

/** The key of the flag that says whether a story is done; undefined: it has none. */
export function findFlagKey(story: JsonValue): string | undefined {
  const isBoolean = (key: string) => findMember(story, key)?.kind === 'boolean';
  return FLAG_KEYS.find((key) => findMember(story, key) !== undefined) ?? BOOLEAN_FLAG_KEYS.find(isBoolean);
}

/** The key of the word for the progress of a story; undefined: it has none. */
export function findWordKey(story: JsonValue): string | undefined {
  const kinds = STATUS_KEYS.map((key) => [key, findMember(story, key)?.kind] as const);
  // A state may be anything else, such as one of a machine.
  const found = kinds.find(
    ([key, kind]) => kind === 'string' || (key === 'status' && kind !== undefined && kind !== 'null'),
  );
  return (found ?? kinds.find(([key, kind]) => key === 'status' && kind === 'null'))?.[0];
}

/** undefined: the story has no flag. `null` counts as not done. */
function readFlag(reader: MemberReader, story: string): boolean | undefined {
  const key = findFlagKey(reader.at);
  const flag = key === undefined ? undefined : findMember(reader.at, key);
  if (key === undefined || flag === undefined) return undefined;
  markTaken(reader, key);
  const contradicting = [...FLAG_KEYS, ...BOOLEAN_FLAG_KEYS].filter((name) => {
    const other = name === key ? undefined : findMember(reader.at, name);
    return other?.kind === 'boolean' && isTrue(other) !== isTrue(flag);
  });
  if (contradicting.length > 0) addWarning(reader, story, `${key} counts, not ${contradicting.join(', ')}`);
  if (flag.kind === 'boolean') return flag.value as boolean;
  if (flag.kind === 'null') return false;
  if (flag.kind === 'string') {
    const done = ['true', 'yes', 'done'].includes((flag.value as string).trim().toLowerCase());
    addWarning(reader, story, `${key} is a string, taken as ${done ? 'done' : 'not done'}`);
    return done;
  }
  addProblem(reader, flag, `must be true or false, not ${nameKind(flag)}`);
  return false;
}

function readWord(reader: MemberReader, story: string): StoryStatus | undefined {
  const key = findWordKey(reader.at);
  const member = key === undefined ? undefined : take(reader, key);
  if (member === undefined) return undefined;
  if (member.kind !== 'string') {
    addProblem(reader, member, `must be a string, not ${nameKind(member)}`);
    return undefined;
  }
  const text = member.value as string;
  const status = statusOfWord(text);
  for (const other of STATUS_KEYS.filter((name) => name !== key)) {
    const said = statusOfWord(String(findMember(reader.at, other)?.value));
    if (said !== undefined && said !== status) addWarning(reader, story, `${key} counts, not ${other}`);
  }
  if (status !== undefined) return status;
  if (isLifeCycleWord(text)) return undefined;
  addWarning(reader, story, `unknown status "${text}", taken as pending`);
  return 'pending';
}

/** What stands in front of an explanation: `Done` of `Done (in #12)`. */
export function leadOf(text: string): string {
  return (text.split(/\s[-–—]\s|[(,;:]/)[0] ?? '').trim();
}

/** What a word of any spelling says of progress, also with more behind it; undefined: nothing that is known. */
export function statusOfWord(text: string): StoryStatus | undefined {
  for (const word of [bare(text), bare(leadOf(text))]) {
    if (PENDING_WORDS.includes(word)) return 'pending';
    for (const [status, words] of Object.entries(WORDS)) if (words.includes(word)) return status as StoryStatus;
  }
  return bare(text) === '' && /[✅✔☑]/u.test(text) ? 'done' : undefined;
}

/** Whether a status word is about the life cycle of a document, which says nothing of progress. */
export function isLifeCycleWord(text: string): boolean {
  return text.trim() === '' || bare(text) === 'active';
}

function bare(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** Whether one of the keys is true; what is no switch stays in `extra`. */
function takeSwitches(reader: MemberReader, keys: string[]): boolean {
  const switches = keys.filter((key) => findMember(reader.at, key)?.kind === 'boolean');
  return switches.map((key) => isTrue(take(reader, key))).includes(true);
}

function isTrue(member: JsonValue | undefined): boolean {
  return member?.value === true;
}
