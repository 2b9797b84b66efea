import { oneLine } from '../../lib/text.ts';
import type { Draft, DraftStory, JsonDocument } from '../dialect.ts';
import { nameOf, type FoundList, type StoryMember } from './find-list.ts';
import { type Diagnostics, exceedsStoryLimit } from '../diagnostics.ts';
import { renameDoneDuplicates } from '../story/story-ids.ts';
import { findMember } from './find-member.ts';
import { isEmptyMap, looksLikeStories } from './looks-like-stories.ts';
import type { JsonValue } from './json-positions.ts';
import { ABOUT_KEYS, PROJECT_KEYS } from './field-aliases.ts';
import {
  addProblem,
  addWarning,
  markTaken,
  missing,
  describeKind,
  readMembers,
  type MemberReader,
} from './object-reader.ts';
import { readContext } from '../story/read-context.ts';
import { readStory, type RefineStory } from '../story/read-story.ts';

/** Reads a JSON document with the rules common to most dialects: its list of stories and everything around it. */
export function readJsonPrd(document: JsonDocument, diagnostics: Diagnostics, refine?: RefineStory): Draft {
  const { found, json } = document;
  if (found === undefined) throw new Error('a dialect must not detect a document without a list of stories');
  const about = readMembers(found.about, diagnostics);
  const outer = found.about === json ? about : readMembers(json, diagnostics);
  if (found.kind !== 'top') markTaken(about, found.key);
  if (findMember(about.at, 'branchName') !== undefined) {
    markTaken(about, 'branchName');
    addWarning(about, undefined, 'branchName is ignored: each run has its own branch');
  }
  const metadata = findMember(found.about, 'metadata');
  const readers = [about, outer, ...(metadata === undefined ? [] : [readMembers(metadata, diagnostics)])];
  const stories = readStories(found, diagnostics, refine);
  warnOfMixedPriorities(found.members, diagnostics);
  return {
    project: oneLine(readAbout(readers, ...PROJECT_KEYS)),
    description: readAbout(readers, ...ABOUT_KEYS),
    stories: renameDoneDuplicates(stories, diagnostics),
    about: found.kind === 'top' ? [] : readContext(found, { about, outer }),
  };
}

function readStories(found: FoundList, diagnostics: Diagnostics, refine: RefineStory | undefined): DraftStory[] {
  const { list, members, empty, others, tags } = found;
  const reader = readMembers(found.about, diagnostics);
  if (tags !== undefined) {
    const rule = `there are several tags (${tags.map((tag) => oneLine(tag)).join(', ')}) but no tag "master"; rename the one to use to "master"`;
    addProblem(reader, missing(found.about, found.key), rule);
  } else if (list.kind !== 'array' && !looksLikeStories(list) && !isEmptyMap(list) && found.kind !== 'top') {
    addProblem(reader, list, `must be a list of stories, not ${describeKind(list)}`);
    return [];
  }
  if (exceedsStoryLimit(members.length, diagnostics)) return [];
  if (members.length === 0 && tags === undefined && empty.length === 0) {
    addWarning(reader, undefined, `${list.where === '' ? 'the file' : list.where} has no stories`);
  }
  for (const group of empty) {
    const name = nameOf(group);
    addWarning(reader, undefined, `${group.where}${name === undefined ? '' : ` (${name})`} contains no stories`);
  }
  for (const { where } of others) addWarning(reader, undefined, `${where} contains stories too, which are ignored`);
  return members.flatMap((member, index) => readStory({ member, position: index + 1, diagnostics, refine }));
}

/** Returns the first text under one of the keys; other values stay in the context. */
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

/** Priority words are ranked from 0 to 3, which may be wrong if other stories have numbers. */
function warnOfMixedPriorities(members: StoryMember[], diagnostics: Diagnostics): void {
  const kinds = members.map(({ at }) => findMember(at, 'priority')?.kind);
  if (!kinds.includes('string') || !kinds.includes('number')) return;
  const words = members.map(({ at }) => findMember(at, 'priority')?.value);
  if (words.every((word) => typeof word !== 'string' || /^\s*-?[\d.]+\s*$/.test(word))) return;
  addWarning({ diagnostics }, undefined, 'priorities mix words and numbers: critical is 0, high 1, medium 2, low 3');
}
