import { toOneLine } from '../../lib/one-line.ts';
import type { Draft, DraftStory, JsonDocument } from '../dialect.ts';
import { nameOf, type FoundList, type Member } from './find-list.ts';
import type { Findings } from '../findings.ts';
import { renameDoneDuplicates } from '../ids.ts';
import { findMember } from './find-member.ts';
import { isEmptyMap, isStories } from './looks-like-stories.ts';
import type { JsonValue } from './json-positions.ts';
import { ABOUT_KEYS, PROJECT_KEYS } from './field-aliases.ts';
import { isTooMany } from '../limits.ts';
import {
  addProblem,
  addWarning,
  markTaken,
  missing,
  nameKind,
  readMembers,
  type MemberReader,
} from './object-reader.ts';
import { readContext } from '../story/read-context.ts';
import { readStory, type Refine } from '../story/read-story.ts';

/** Reads a JSON document in the common way: its list of stories, wherever it is, and what describes the whole. */
export function readJsonPrd(document: JsonDocument, findings: Findings, refine?: Refine): Draft {
  const { found, json } = document;
  if (found === undefined) throw new Error('a dialect must not detect a document without a list of stories');
  const about = readMembers(found.about, findings);
  const outer = found.about === json ? about : readMembers(json, findings);
  if (found.kind !== 'top') markTaken(about, found.key);
  if (findMember(about.at, 'branchName') !== undefined) {
    markTaken(about, 'branchName');
    addWarning(about, undefined, 'branchName is ignored: each run has a branch of its own');
  }
  const metadata = findMember(found.about, 'metadata');
  const readers = [about, outer, ...(metadata === undefined ? [] : [readMembers(metadata, findings)])];
  const stories = readStories(found, findings, refine);
  warnOfMixedPriorities(found.members, findings);
  return {
    project: toOneLine(readAbout(readers, ...PROJECT_KEYS)),
    description: readAbout(readers, ...ABOUT_KEYS),
    stories: renameDoneDuplicates(stories, findings),
    about: found.kind === 'top' ? [] : readContext(found, { about, outer }),
  };
}

function readStories(found: FoundList, findings: Findings, refine: Refine | undefined): DraftStory[] {
  const { list, members, empty, others, tags } = found;
  const reader = readMembers(found.about, findings);
  if (tags !== undefined) {
    const rule = `there are several tags (${tags.map((tag) => toOneLine(tag)).join(', ')}) and none is called master; which one counts?`;
    addProblem(reader, missing(found.about, found.key), rule);
  } else if (list.kind !== 'array' && !isStories(list) && !isEmptyMap(list) && found.kind !== 'top') {
    addProblem(reader, list, `must be a list of stories, not ${nameKind(list)}`);
    return [];
  }
  if (isTooMany(members.length, findings)) return [];
  if (members.length === 0 && tags === undefined && empty.length === 0) {
    addWarning(reader, undefined, `${list.where === '' ? 'the file' : list.where} has no stories`);
  }
  for (const group of empty) {
    const name = nameOf(group);
    addWarning(reader, undefined, `${group.where}${name === undefined ? '' : ` (${name})`} holds no stories`);
  }
  for (const { where } of others) addWarning(reader, undefined, `${where} holds stories too, which are not read`);
  return members.flatMap((member, index) => readStory({ member, position: index + 1, findings, refine }));
}

/** The first text under one of the keys; what else is there stays as it is. */
function readAbout(readers: MemberReader[], ...keys: string[]): string {
  for (const reader of readers) {
    for (const key of keys) {
      const member = findMember(reader.at, key);
      if (member === undefined || !isText(member)) continue;
      markTaken(reader, key);
      return member.value as string;
    }
  }
  return '';
}

function isText({ kind, value }: JsonValue): boolean {
  return kind === 'string' && (value as string).trim() !== '';
}

/** Words are ranked as numbers from 0 to 3, which need not be what the author meant beside other numbers. */
function warnOfMixedPriorities(members: Member[], findings: Findings): void {
  const kinds = members.map(({ at }) => findMember(at, 'priority')?.kind);
  if (!kinds.includes('string') || !kinds.includes('number')) return;
  const words = members.map(({ at }) => findMember(at, 'priority')?.value);
  if (words.every((word) => typeof word !== 'string' || /^\s*-?[\d.]+\s*$/.test(word))) return;
  addWarning(
    { findings },
    undefined,
    'priorities are words and numbers: critical counts as 0, high 1, medium 2, low 3',
  );
}
