import type { StoryStatus } from '../core/prd.ts';
import type { JsonValue } from './json.ts';
import { addProblem, nameKind, take, type MemberReader } from './members.ts';

const FLAGS = ['passes', 'passed', 'done', 'complete', 'completed', 'tested'];

const WORDS: Record<Exclude<StoryStatus, 'pending'>, string[]> = {
  done: 'done complete completed passing passed closed finished merged implemented resolved shipped'.split(' '),
  in_progress: 'inprogress started doing wip review readyforqa'.split(' '),
  blocked: 'blocked onhold waiting'.split(' '),
  skipped: 'deferred cancelled canceled superseded obsolete wontfix dropped postponed'.split(' '),
};
const PENDING_WORDS = 'pending todo open new planned backlog ready notstarted needsfix failed'.split(' ');

/** A word of the life cycle of a document, which says nothing of progress. */
const LIFE_CYCLE_WORD = 'active';

/**
 * The status of a story. A flag (`passes`, …) alone decides whether it is done;
 * the status word only refines a story that is not.
 */
export function readStatus(reader: MemberReader, story: string): StoryStatus {
  const flag = readFlag(reader, story);
  const word = readWord(reader, story);
  const skip = isTrue(take(reader, 'skip')) || isTrue(take(reader, 'wontfix'));
  const started = isTrue(take(reader, 'inProgress')) || isTrue(take(reader, 'started'));
  if (flag === true) {
    if (word !== undefined && word !== 'done') warn(reader, story, 'the flag says done and the status does not; done');
    return 'done';
  }
  if (flag === false && word === 'done') {
    warn(reader, story, 'the status says done and the flag does not; not done');
  } else if (word === 'done') return 'done';
  if (skip) return 'skipped';
  if (started) return 'in_progress';
  return word === undefined || word === 'done' ? 'pending' : word;
}

/** undefined: the story has no flag. `null` counts as not done. */
function readFlag(reader: MemberReader, story: string): boolean | undefined {
  const key = FLAGS.find((name) => reader.at.members.has(name));
  const flag = key === undefined ? undefined : reader.at.members.get(key);
  if (key === undefined || flag === undefined) return undefined;
  reader.taken.add(key);
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
  const member = take(reader, 'status');
  if (member === undefined) return undefined;
  if (member.kind !== 'string') {
    addProblem(reader, member, `must be a string, not ${nameKind(member)}`);
    return undefined;
  }
  const word = (member.value as string).toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  if (word === '' || word === LIFE_CYCLE_WORD) return undefined;
  for (const [status, words] of Object.entries(WORDS)) if (words.includes(word)) return status as StoryStatus;
  if (!PENDING_WORDS.includes(word)) warn(reader, story, `unknown status "${String(member.value)}", taken as pending`);
  return 'pending';
}

function isTrue(member: JsonValue | undefined): boolean {
  return member?.value === true;
}

function warn(reader: MemberReader, story: string, text: string): void {
  reader.findings.warnings.push({ story, text });
}
