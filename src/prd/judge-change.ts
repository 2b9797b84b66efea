import { TEXT_FIELD_NAMES, TEXT_FIELDS } from '../core/prd/fields.ts';
import type { Story, StoryStatus } from '../core/prd/prd.ts';
import type { Draft, DraftStory, PrdDocument, ProgressMark } from './dialect.ts';
import { applyEdits, progressOf, type Edit } from './json/edit-json.ts';
import type { JsonValue } from './json/json-positions.ts';
import { STORY_KEY } from './folder/folder-text.ts';
import { readPrdFile } from './parse-prd.ts';
import { digestStory, PROGRESS_KEYS } from './spec-hash.ts';

interface PrdVersions {
  before: Uint8Array;
  after: Uint8Array;
  /** For messages. */
  path: string;
  /** The story whose attempt changed the file. */
  story: Pick<Story, 'id' | 'title' | 'description' | 'acceptance'> & { extra?: Story['extra'] };
}

export interface PrdChange {
  /** Only that story's progress mark (done or in progress), its notes, and dates and counters of the file differ. */
  isOwnMark: boolean;
  /** The other differences, as phrases that follow the file name: "adds US-2". */
  what: string[];
}

/** Keys of dates and counters, at any depth. Prose under these keys counts as a change: the next agent may read it. */
const BOOKKEEPING = new Set([
  ...['updated', 'updatedAt', 'updated_at', 'lastUpdated', 'last_updated'],
  ...['iteration', 'current_task_id', 'last_completed_task_id'],
]);

/**
 * Compares the PRD before and after an attempt at a story; undefined if neither version can be parsed. Pure, never
 * throws.
 */
export function judgePrdChange({ before, after, path, story }: PrdVersions): PrdChange | undefined {
  const [old, now] = [tryRead(before, path), tryRead(after, path)];
  if (old === undefined && now === undefined) return undefined;
  if (old === undefined || now === undefined) {
    const what = old === undefined ? 'changes it, although it was not valid before' : 'makes it invalid';
    return { isOwnMark: false, what: [what] };
  }
  const ownOld = findOwn(old, story);
  const ownNow = ownOld && byKey(now).get(keyOfDraft(ownOld));
  const isOwnMark =
    ownOld !== undefined &&
    ownNow !== undefined &&
    [ownOld.status, 'done', 'in_progress'].includes(ownNow.status) &&
    withoutMark(old, ownOld) === withoutMark(now, ownNow);
  if (isOwnMark) return { isOwnMark, what: [] };
  const what = describeChanges(old, now, ownNow);
  return { isOwnMark, what: what.length > 0 ? what : ['changes other content'] };
}

/** A PRD in a file. */
interface OneFile {
  document: PrdDocument;
  draft: Draft;
}

/** Undefined for a file that is not a PRD; one with the text of a folder counts as none. */
function tryRead(bytes: Uint8Array, path: string): OneFile | undefined {
  try {
    const { files, draft } = readPrdFile(bytes, path);
    const [file] = files;
    return file === undefined || file.name !== undefined ? undefined : { document: file.document, draft };
  } catch {
    return undefined;
  }
}

/** Finds the story by id, title and criteria, or by its texts if it has no id; undefined if several match. */
function findOwn({ draft }: OneFile, story: PrdVersions['story']): DraftStory | undefined {
  const looks = ({ title, acceptance }: PrdVersions['story']) => JSON.stringify([title, acceptance]);
  const key = story.extra?.[STORY_KEY];
  const found = draft.stories.filter((each) => {
    // An entry of sprint-status.yaml has no text to compare.
    if (each.mark.kind === 'word' && each.id === key) return true;
    // Another PRD may have a story of the same id.
    return each.ownId === undefined
      ? digestStory(each) === digestStory(story)
      : each.id === story.id && looks(each) === looks(story);
  });
  return found.length === 1 ? found[0] : undefined;
}

/** The file without the parts that the story may change; for JSON, independent of white space. */
function withoutMark({ document }: OneFile, { mark }: DraftStory): string {
  if (document.format === 'json') return JSON.stringify(strip(document.json, 'at' in mark ? mark.at : undefined));
  return applyEdits(document.text, blankMark(document.text, mark));
}

/** Removes a mark from a Markdown file: its boxes, its sign, or the values in its front matter. */
function blankMark(text: string, mark: ProgressMark): Edit[] {
  if (mark.kind === 'json') return progressOf(mark.at).map(({ offset, end }) => ({ from: offset, to: end, text: '' }));
  if (mark.kind !== 'boxes') return [];
  const { boxes, headingEnd = 0, word } = mark;
  const sign = /[\s✅☑✔\uFE0F]*$/u.exec(text.slice(0, headingEnd))?.[0].length ?? 0;
  return [
    ...boxes.map((at) => ({ from: at, to: at + 1, text: ' ' })),
    ...(word === undefined ? [] : [{ from: word.from, to: word.to, text: '' }]),
    { from: headingEnd - sign, to: headingEnd, text: '' },
  ];
}

/** The text of a Markdown file without the marks of its stories; undefined if it is not a PRD in Markdown. */
export function textWithoutMarks(bytes: Uint8Array, path: string): string | undefined {
  const read = tryRead(bytes, path);
  if (read?.document.format !== 'markdown') return undefined;
  const { text } = read.document;
  return applyEdits(
    text,
    read.draft.stories.flatMap(({ mark }) => blankMark(text, mark)),
  );
}

function strip(value: JsonValue, own: JsonValue | undefined, isOwn = value === own): unknown {
  if (value.kind === 'array') return value.items.map((item) => strip(item, own, isOwn || item === own));
  if (value.kind !== 'object') return isOwn && value === own ? '' : value.value;
  const kept = [...value.members].filter(([key, member]) => {
    return !(isOwn && PROGRESS_KEYS.has(key)) && !(BOOKKEEPING.has(key) && isCount(member));
  });
  return kept.map(([key, member]): unknown => [key, strip(member, own, isOwn || member === own)]);
}

function isCount({ kind, value }: JsonValue): boolean {
  if (kind === 'string') return /^(?:[\w.:+-]{0,40}|[\d:.+ TZ-]{0,40})$/.test(value as string);
  return kind === 'number' || kind === 'null';
}

const STATUS_WORDS: Record<StoryStatus, string> = {
  done: 'done',
  in_progress: 'in progress',
  pending: 'open',
  blocked: 'blocked',
  skipped: 'skipped',
};

function describeChanges(old: OneFile, now: OneFile, own: DraftStory | undefined): string[] {
  const [was, is] = [byKey(old), byKey(now)];
  const common = [...is.keys()].filter((key) => was.has(key));
  const order = [...was.keys()].filter((key) => is.has(key));
  return [
    ...[...is.values()].filter((each) => !was.has(keyOfDraft(each))).map(({ id }) => `adds ${id}`),
    ...[...was.values()].filter((each) => !is.has(keyOfDraft(each))).map(({ id }) => `removes ${id}`),
    ...common.flatMap((key) => describeStory(was.get(key), is.get(key), is.get(key) === own)),
    ...(common.join('\0') === order.join('\0') ? [] : ['changes the order of its stories']),
    ...(old.draft.project + old.draft.description === now.draft.project + now.draft.description
      ? []
      : ['changes the project name or description']),
  ];
}

function describeStory(was: DraftStory | undefined, is: DraftStory | undefined, isOwn: boolean): string[] {
  if (was === undefined || is === undefined) return [];
  const changed = (what: string, of: (story: DraftStory) => unknown) =>
    JSON.stringify(of(was)) === JSON.stringify(of(is)) ? [] : [`${what} ${is.id}`];
  const isMark = isOwn && ['done', 'in_progress'].includes(is.status);
  return [
    ...(was.status === is.status || isMark ? [] : [`marks ${is.id} as ${STATUS_WORDS[is.status]}`]),
    ...changed('changes the criteria of', ({ acceptance }) => acceptance),
    ...changed('changes the text of', ({ title, description }) => [title, description]),
    ...changed('changes the order or dependencies of', ({ priority, ownPriority, dependsOn }) => [
      ownPriority ?? priority,
      dependsOn.map(({ id }) => id),
    ]),
    ...TEXT_FIELD_NAMES.filter((name) => !isOwn || TEXT_FIELDS[name].isSpecification).flatMap((name) =>
      changed(`changes the ${TEXT_FIELDS[name].title.toLowerCase()} of`, (story) => story[name]),
    ),
  ];
}

function byKey({ draft }: OneFile): Map<string, DraftStory> {
  return new Map(draft.stories.map((story) => [keyOfDraft(story), story]));
}

function keyOfDraft(story: DraftStory): string {
  return story.ownId === undefined ? digestStory(story) : story.id;
}
