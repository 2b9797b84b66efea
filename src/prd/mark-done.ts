import { HaloError } from '../core/failure/errors.ts';
import type { Story } from '../core/prd/prd.ts';
import type { DraftStory, PrdDocument, ProgressMark, ReadFile } from './dialect.ts';
import { replaceInFolder } from './folder/folder-text.ts';
import { applyEdits, markJson, markStarted, replaceWord, type Edit } from './json/edit-json.ts';
import { readPrdFile, type ReadPrd } from './parse-prd.ts';
import { digestStory } from './spec-hash.ts';
import { chooseDoneWord, statusOfWord } from './story/read-status.ts';

/** The fields that identify a story. */
type StoryIdentity = Pick<Story, 'id' | 'title' | 'description' | 'acceptance'>;

export interface PrdProgress {
  /** The stories to mark as done. */
  landed: StoryIdentity[];
  /** Stories that were already done, to distinguish identical stories without ids. */
  before: StoryIdentity[];
  /** Ids of started stories that have not passed; marked only where the file has a field for it. */
  begun?: readonly string[];
}

interface MarkedPrd {
  /** The file, or the text of the folder, with updated progress; undefined: nothing changed. */
  bytes: Uint8Array | undefined;
  /** Ids of the stories that are no longer in the file. */
  gone: string[];
}

/**
 * Marks stories as done or started in the text of their PRD, in the field, word or checkbox that the file uses. The file
 * may have changed since the stories were read: each is found by id, or by its texts if it has no id. Pure; `path` is
 * used in messages only. Throws PRD_INVALID if the file, or the marked file, cannot be parsed.
 */
export function markDone(bytes: Uint8Array, path: string, progress: PrdProgress): MarkedPrd {
  const read = readPrdFile(bytes, path);
  const { drafts, gone } = findAgain(read.draft.stories, progress);
  const open = new Set(drafts.filter(({ status }) => status !== 'done'));
  const editsOf = (file: ReadFile, story: DraftStory): Edit[] => {
    if (open.has(story)) return findEdits(file, story);
    return story.status === 'pending' && isBegun(story, progress) ? markStarted(story.mark) : [];
  };
  const texts = new Map<string | undefined, string>();
  for (const file of read.files) {
    const edits = file.marks.flatMap((story) => editsOf(file, story));
    if (edits.length > 0)
      texts.set(file.name, `${file.hadMark ? '\uFEFF' : ''}${applyEdits(file.document.text, edits)}`);
  }
  if (texts.size === 0) return { bytes: undefined, gone };
  const [only] = read.files;
  const marked =
    only?.name === undefined ? new TextEncoder().encode(texts.get(undefined)) : replaceInFolder(bytes, path, texts);
  assertMarked(readPrdFile(marked, path), { open, before: read });
  return { bytes: marked, gone };
}

function isBegun({ ownId }: DraftStory, { begun = [] }: PrdProgress): boolean {
  return ownId !== undefined && begun.includes(ownId);
}

function findAgain(stories: DraftStory[], progress: PrdProgress): { drafts: DraftStory[]; gone: string[] } {
  const byId = new Map(stories.flatMap((story) => (story.ownId === undefined ? [] : [[story.id, story] as const])));
  const drafts = progress.landed.flatMap(({ id }) => byId.get(id) ?? []);
  const nameless = progress.landed.filter(({ id }) => !byId.has(id));
  const gone: string[] = [];
  for (const [digest, landed] of groupByDigest(nameless)) {
    const same = stories.filter((story) => story.ownId === undefined && digestStory(story) === digest);
    if (same.length === 0) gone.push(...landed.map(({ id }) => id));
    const doneBefore = progress.before.filter((story) => digestStory(story) === digest).length;
    const isDone = same.filter(({ status }) => status === 'done').length;
    const open = same.filter(({ status }) => status !== 'done');
    const names = new Set(landed.map(({ id }) => id));
    const preferred = [...open.filter(({ id }) => names.has(id)), ...open.filter(({ id }) => !names.has(id))];
    drafts.push(...preferred.slice(0, Math.max(0, landed.length + doneBefore - isDone)));
  }
  return { drafts, gone };
}

function groupByDigest(stories: StoryIdentity[]): Map<string, StoryIdentity[]> {
  const groups = new Map<string, StoryIdentity[]>();
  for (const story of stories) {
    const digest = digestStory(story);
    groups.set(digest, [...(groups.get(digest) ?? []), story]);
  }
  return groups;
}

function findEdits({ dialect, document, marks: stories }: ReadFile, draft: DraftStory): Edit[] {
  if (draft.mark.kind === 'boxes') return markCheckboxes(draft.mark, { tick: tickOf(document), stories });
  if (draft.mark.kind === 'none')
    throw new HaloError('PRD_INVALID', `halo does not mark ${draft.id}: ${draft.mark.why}.`);
  const isYaml = document.format === 'markdown' || document.form === 'yaml';
  if (draft.mark.kind === 'word') {
    const words = stories.flatMap(({ mark }) => (mark.kind === 'word' ? [String(mark.at.value)] : []));
    return [
      replaceWord(draft.mark.at, chooseDoneWord(words, draft.mark.doneWord ?? 'done'), { text: document.text, isYaml }),
    ];
  }
  const places = stories.flatMap(({ mark, status }) => (mark.kind === 'json' ? [{ at: mark.at, status }] : []));
  const done = places.filter(({ status }) => status === 'done').map(({ at }) => at);
  const doneWord = draft.mark.doneWord ?? (dialect.format === 'json' ? dialect.doneWord : 'done');
  return markJson(draft.mark.at, { text: document.text, isYaml, stories: places.map(({ at }) => at), done, doneWord });
}

/** The tick that the file uses most often. */
function tickOf(document: PrdDocument): string {
  if (document.format === 'json') return 'x';
  const count = (tick: string) => document.boxes.filter(({ mark }) => mark === tick).length;
  return count('X') > count('x') ? 'X' : 'x';
}

/** Throws if the marked file differs from the original in more than the marks. */
function assertMarked(after: ReadPrd, { open, before }: { open: ReadonlySet<DraftStory>; before: ReadPrd }): void {
  const wanted = before.draft.stories.map((story) => story.status === 'done' || open.has(story));
  const isRight = after.draft.stories.every(({ status }, index) => (status === 'done') === wanted[index]);
  if (isRight && after.prd.specHash === before.prd.specHash) return;
  throw new Error(
    `marking ${[...open].map(({ id }) => JSON.stringify(id)).join(', ')} as done would change other content`,
  );
}

/**
 * Ticks the checkbox of a story, or those of its criteria, and replaces its status word with the word that the file uses
 * for done. The sign of the file or the dialect is appended to the heading or bullet; ✅, if it has none of these.
 */
function markCheckboxes({ boxes, headingEnd, word, sign }: BoxesMark, { tick, stories }: CheckboxOptions): Edit[] {
  const isOpen = word !== undefined && statusOfWord(word.text) !== 'done';
  const edits = boxes.map((offset) => ({ from: offset, to: offset + 1, text: tick }));
  if (isOpen) {
    const words = stories.flatMap(({ mark }) => (mark.kind === 'boxes' ? (mark.word?.text ?? []) : []));
    edits.push({ from: word.from, to: word.to, text: chooseDoneWord(words, 'done') });
  }
  const appended = sign ?? (edits.length === 0 ? '✅' : undefined);
  if (appended !== undefined && headingEnd !== undefined)
    edits.push({ from: headingEnd, to: headingEnd, text: ` ${appended}` });
  return edits;
}

type BoxesMark = ProgressMark & { kind: 'boxes' };

interface CheckboxOptions {
  tick: string;
  /** All stories of the file. */
  stories: DraftStory[];
}
