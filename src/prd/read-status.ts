import type { StoryStatus } from '../core/prd.ts';
import type { JsonValue } from './json.ts';
import { FLAG_KEYS, SKIP_KEYS, STARTED_KEYS, STATUS_KEY } from './keys.ts';
import { addProblem, nameKind, take, type MemberReader } from './members.ts';

const WORDS: Record<Exclude<StoryStatus, 'pending'>, string[]> = {
  done: 'done complete completed passing passed closed finished merged implemented resolved shipped'.split(' '),
  in_progress: 'inprogress started doing wip review readyforqa'.split(' '),
  blocked: 'blocked onhold waiting'.split(' '),
  skipped: 'deferred cancelled canceled superseded obsolete wontfix dropped postponed'.split(' '),
};
const PENDING_WORDS = 'pending todo open new planned backlog ready notstarted unstarted needsfix failed'.split(' ');

/**
 * The status of a story. A flag (`passes`, …) alone decides whether it is done;
 * the status word only refines a story that is not.
 */
export function readStatus(reader: MemberReader, story: string): StoryStatus {
  const flag = readFlag(reader, story);
  const word = readWord(reader, story);
  const skip = takeSwitches(reader, SKIP_KEYS);
  const started = takeSwitches(reader, STARTED_KEYS);
  const successor = reader.at.members.get('supersededBy')?.value;
  if (flag === true) {
    if (word !== undefined && word !== 'done') warn(reader, story, 'the flag says done and the status does not; done');
    return 'done';
  }
  if (flag === false && word === 'done') {
    warn(reader, story, 'the status says done and the flag does not; not done');
  } else if (word === 'done') return 'done';
  if (skip) return 'skipped';
  if (typeof successor === 'string' && successor.trim() !== '') {
    warn(reader, story, 'supersededBy names another story; skipped');
    return 'skipped';
  }
  if (started) return 'in_progress';
  return word === undefined || word === 'done' ? 'pending' : word;
}

/** undefined: the story has no flag. `null` counts as not done. */
function readFlag(reader: MemberReader, story: string): boolean | undefined {
  const key = FLAG_KEYS.find((name) => reader.at.members.has(name));
  const flag = key === undefined ? undefined : reader.at.members.get(key);
  if (key === undefined || flag === undefined) return undefined;
  reader.taken.add(key);
  const others = FLAG_KEYS.filter((name) => name !== key && isTrue(reader.at.members.get(name)) !== isTrue(flag));
  const contradicting = others.filter((name) => reader.at.members.get(name)?.kind === 'boolean');
  if (contradicting.length > 0) warn(reader, story, `${key} counts, not ${contradicting.join(', ')}`);
  if (flag.kind === 'boolean') return flag.value as boolean;
  if (flag.kind === 'null') return false;
  if (flag.kind === 'string') {
    const done = ['true', 'yes', 'done'].includes((flag.value as string).trim().toLowerCase());
    warn(reader, story, `${key} is a string, taken as ${done ? 'done' : 'not done'}`);
    return done;
  }
  addProblem(reader, flag, `must be true or false, not ${nameKind(flag)}`);
  return false;
}

function readWord(reader: MemberReader, story: string): StoryStatus | undefined {
  const member = take(reader, STATUS_KEY);
  if (member === undefined) return undefined;
  if (member.kind !== 'string') {
    addProblem(reader, member, `must be a string, not ${nameKind(member)}`);
    return undefined;
  }
  const text = member.value as string;
  const status = statusOfWord(text);
  if (status !== undefined) return status;
  if (isLifeCycleWord(text)) return undefined;
  warn(reader, story, `unknown status "${text}", taken as pending`);
  return 'pending';
}

/** What a word of any spelling says of progress; undefined: nothing that is known. */
export function statusOfWord(text: string): StoryStatus | undefined {
  const word = bare(text);
  for (const [status, words] of Object.entries(WORDS)) if (words.includes(word)) return status as StoryStatus;
  return PENDING_WORDS.includes(word) ? 'pending' : undefined;
}

/** Whether a status word is about the life cycle of a document, which says nothing of progress. */
export function isLifeCycleWord(text: string): boolean {
  return ['', 'active'].includes(bare(text));
}

function bare(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** Whether one of the keys is true; what is no switch stays in `extra`. */
function takeSwitches(reader: MemberReader, keys: string[]): boolean {
  const switches = keys.filter((key) => reader.at.members.get(key)?.kind === 'boolean');
  return switches.map((key) => isTrue(take(reader, key))).includes(true);
}

function isTrue(member: JsonValue | undefined): boolean {
  return member?.value === true;
}

function warn(reader: MemberReader, story: string, text: string): void {
  reader.findings.warnings.push({ story, text });
}
