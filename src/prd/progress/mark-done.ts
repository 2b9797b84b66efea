import type { Story } from '../../core/prd/prd.ts';
import type { DraftStory, PrdDocument } from '../dialect.ts';
import { applyEdits, type Edit } from '../json/text-edits.ts';
import { markBoxes } from './mark-checkboxes.ts';
import { markJson, markStarted } from '../json/mark-json.ts';
import { readPrdFile, type ReadPrd } from '../parse-prd.ts';
import { digestStory } from '../spec-hash.ts';

/** What a story is known by. */
export type StoryIdentity = Pick<Story, 'id' | 'title' | 'description' | 'acceptance'>;

export interface Progress {
  /** The stories that are to be done in the file. */
  landed: StoryIdentity[];
  /** Those that were done before: they tell twins without ids apart. */
  before: StoryIdentity[];
  /** Ids of stories that were begun and have not landed: told where the file has a field of its own for that. */
  begun?: readonly string[];
}

export interface Marked {
  /** The file, with nothing changed but progress; undefined: it says all that already. */
  bytes: Uint8Array | undefined;
  /** Ids of the stories that the file no longer holds. */
  gone: string[];
}

/**
 * Marks stories as done, or as begun, in the text of their PRD, in the file's own field, word or box. The file may have changed since
 * they were read: each is found again by its id, or by its texts where it has none. Pure: `path` is for messages.
 * Throws PRD_INVALID when the file cannot be read any more, or not after it was marked.
 */
export function markDone(bytes: Uint8Array, path: string, progress: Progress): Marked {
  const read = readPrdFile(bytes, path);
  const { drafts, gone } = findAgain(read.draft.stories, progress);
  const open = drafts.filter(({ status }) => status !== 'done');
  const begun = read.draft.stories.filter((story) => story.status === 'pending' && isBegun(story, progress));
  const edits = [...open.flatMap((draft) => findEdits(read, draft)), ...begun.flatMap(({ mark }) => markStarted(mark))];
  if (edits.length === 0) return { bytes: undefined, gone };
  const text = applyEdits(read.document.text, edits);
  const marked = new TextEncoder().encode(`${read.hadMark ? '\uFEFF' : ''}${text}`);
  assertMarked(readPrdFile(marked, path), { open, before: read });
  return { bytes: marked, gone };
}

function isBegun({ ownId }: DraftStory, { begun = [] }: Progress): boolean {
  return ownId !== undefined && begun.includes(ownId);
}

function findAgain(stories: DraftStory[], progress: Progress): { drafts: DraftStory[]; gone: string[] } {
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

function findEdits({ dialect, document, draft: { stories } }: ReadPrd, draft: DraftStory): Edit[] {
  if (draft.mark.kind === 'boxes') return markBoxes(draft.mark, { tick: tickOf(document), stories });
  const places = stories.flatMap(({ mark, status }) => (mark.kind === 'json' ? [{ at: mark.at, status }] : []));
  const done = places.filter(({ status }) => status === 'done').map(({ at }) => at);
  const doneWord = dialect.format === 'json' ? dialect.doneWord : 'done';
  return markJson(draft.mark.at, { text: document.text, stories: places.map(({ at }) => at), done, doneWord });
}

/** The tick that the file uses most. */
function tickOf(document: PrdDocument): string {
  if (document.format === 'json') return 'x';
  const count = (tick: string) => document.boxes.filter(({ mark }) => mark === tick).length;
  return count('X') > count('x') ? 'X' : 'x';
}

/** Nothing is handed out that would read otherwise than it should. */
function assertMarked(after: ReadPrd, { open, before }: { open: DraftStory[]; before: ReadPrd }): void {
  const wanted = before.draft.stories.map((story) => story.status === 'done' || open.includes(story));
  const isRight = after.draft.stories.every(({ status }, index) => (status === 'done') === wanted[index]);
  if (isRight && after.prd.specHash === before.prd.specHash) return;
  throw new Error(`marking ${open.map(({ id }) => JSON.stringify(id)).join(', ')} as done would change more than that`);
}
