import type { StoryStatus } from '../../core/prd/prd.ts';
import { defined } from '../../lib/guards.ts';
import { oneLine } from '../../lib/text.ts';
import { exceedsStoryLimit, type Diagnostics } from '../diagnostics.ts';
import type { ContextEntry, Draft, DraftStory, JsonDocument } from '../dialect.ts';
import {
  parseStruckThrough,
  readAcceptance,
  readDependsOn,
  readDescription,
  readId,
  readPriority,
  readTexts,
  readTitle,
  STRUCK,
} from '../story/read-fields.ts';
import { readStatus } from '../story/read-status.ts';
import { renameDoneDuplicates } from '../story/story-ids.ts';
import { FIELDS } from '../../core/prd/fields.ts';
import { ABOUT_KEYS, INNER_KEYS, LIST_KEYS, PROJECT_KEYS } from './field-aliases.ts';
import {
  GROUP_NAME_KEYS,
  isEmptyMap,
  looksLikeStories,
  nameOf,
  type FoundList,
  type StoryMember,
} from './find-list.ts';
import { idTextOf, type JsonValue } from './json-positions.ts';
import {
  addProblem,
  addWarning,
  describeKind,
  findMember,
  markTaken,
  missing,
  readExtra,
  readMembers,
  type MemberReader,
} from './object-reader.ts';

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
  const project = oneLine(readAbout(readers, ...PROJECT_KEYS));
  const empty = PROJECT_KEYS.find((key) => readers.some(({ at }) => findMember(at, key)?.kind === 'string'));
  if (project === '' && empty !== undefined) {
    for (const reader of readers) markTaken(reader, empty);
    addWarning(about, undefined, `${empty} is empty: the run has no name of a project`);
  }
  return {
    project,
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
    const id = findMember(group, 'id');
    const name = nameOf(group);
    const where = id === undefined ? group.where : idTextOf(id);
    const more = name === undefined || name === where ? '' : ` (${name})`;
    addWarning(reader, undefined, `${where}${more} contains no stories`);
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

/** Dialect-specific processing of a story after the common fields were read. */
type RefineStory = (story: DraftStory, reader: MemberReader) => DraftStory;

interface StoryRequest {
  member: StoryMember;
  /** Counts from 1. */
  position: number;
  diagnostics: Diagnostics;
  refine?: RefineStory | undefined;
}

/** Reads one item of a story list; fields may use any known key. Returns an empty list if the item is not an object. */
function readStory({ member, position, diagnostics, refine }: StoryRequest): DraftStory[] {
  const { at, key, group } = member;
  const reader = readMembers(at, diagnostics);
  if (at.kind !== 'object') {
    addProblem(reader, at, `must be an object, not ${describeKind(at)}`);
    return [];
  }
  const { id, ownId } = readId(reader, position, key);
  const { title, isDropped } = parseStruckThrough(readTitle(reader, id));
  const story: DraftStory = {
    id,
    ownId,
    title,
    description: readDescription(reader),
    acceptance: readAcceptance(reader, id),
    priority: readPriority(reader, id),
    status: leaveOut(readStatus(reader, id), { isDropped, id, reader }),
    ...readTexts(reader),
    dependsOn: readDependsOn(reader),
    extra: {},
    at,
    mark: { kind: 'json', at },
  };
  const refined = refine?.(story, reader) ?? story;
  const extra = readExtra(reader);
  return [{ ...refined, extra: group === undefined || 'group' in extra ? extra : { ...extra, group } }];
}

function leaveOut(
  status: StoryStatus,
  { isDropped, id, reader }: { isDropped: boolean; id: string; reader: MemberReader },
): StoryStatus {
  if (!isDropped || status === 'done') return status;
  addWarning(reader, id, STRUCK);
  return 'skipped';
}

/** Reads everything except the stories from a JSON document: top-level fields, then groups, outer groups first. */
function readContext(found: FoundList, { about, outer }: { about: MemberReader; outer: MemberReader }): ContextEntry[] {
  const lists = new Set([found.list, ...found.others]);
  const whole = found.list === found.about ? [] : outer === about ? [about] : [outer, about];
  return [
    ...whole.flatMap((reader) => readEntries(reader.at === about.at ? reader : withoutPath(reader, found), lists)),
    ...aboutGroups(found),
  ];
}

/** Excludes the object that contains the stories and sibling tags with other stories. */
function withoutPath(reader: MemberReader, found: FoundList): MemberReader {
  for (const [key, member] of reader.at.members) {
    const holdsTasks = found.kind === 'tag' && findMember(member, 'tasks')?.kind === 'array';
    if (member === found.about || holdsTasks) reader.taken.add(key);
  }
  return reader;
}

function readEntries(reader: MemberReader, lists: ReadonlySet<JsonValue>): ContextEntry[] {
  for (const [key, member] of reader.at.members) if (lists.has(member) || key.startsWith('$')) reader.taken.add(key);
  return Object.entries(readExtra(reader)).map(([label, value]) => ({ label, value }));
}

/** Reads the groups, including groups without stories. */
function aboutGroups({ members, empty }: FoundList): ContextEntry[] {
  const placesOf = new Map<JsonValue, number[] | undefined>();
  for (const [place, { groups = [] }] of members.entries()) {
    for (const group of groups) {
      const places = placesOf.get(group);
      if (places === undefined) placesOf.set(group, [place]);
      else places.push(place);
    }
  }
  for (const group of empty) placesOf.set(group, undefined);
  return [...placesOf].flatMap(([group, stories]) => {
    const value = describeGroup(group);
    if (Object.keys(value).every((key) => key === 'id')) return [];
    return [{ label: nameOf(group) ?? group.where, value, ...defined({ stories }) }];
  });
}

/** Excludes the name, which is the label, and the progress, which follows from the stories. */
function describeGroup(group: JsonValue): Record<string, unknown> {
  const reader = readMembers(group, { problems: [], warnings: [] });
  for (const key of [...LIST_KEYS, ...INNER_KEYS]) {
    const list = findMember(group, key);
    if (list?.kind === 'object' || list?.items.some(({ kind }) => kind === 'object')) markTaken(reader, key);
  }
  for (const key of [...FIELDS.flag.keys, ...FIELDS.status.keys]) markTaken(reader, key);
  const name = GROUP_NAME_KEYS.find((key) => findMember(group, key)?.kind === 'string');
  if (name !== undefined) markTaken(reader, name);
  return readExtra(reader);
}
