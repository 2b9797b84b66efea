import type { Story } from '../core/prd.ts';
import type { DraftStory } from './dialect.ts';
import { applyEdits, type Edit } from './edits.ts';
import { markBoxes } from './mark-boxes.ts';
import { markJson } from './mark-json.ts';
import { readPrdFile, type ReadPrd } from './parse.ts';
import { digestStory } from './spec-hash.ts';

/** What a story is known by. */
export type StoryIdentity = Pick<Story, 'id' | 'title' | 'description' | 'acceptance'>;

export type MarkResult =
  /** The file with the progress of this one story changed, and nothing else. */
  | { kind: 'marked'; bytes: Uint8Array }
  /** The file says so already. */
  | { kind: 'unchanged' }
  /** The file no longer holds the story. */
  | { kind: 'gone' };

/**
 * Marks a story as done in the text of its PRD, in the file's own field, word or box. The file may have changed since
 * the story was read: it is found again by its id, or by its texts where it has none. Pure: `path` is for messages.
 * Throws PRD_INVALID when the file cannot be read any more, or cannot be marked so that it reads as done.
 */
export function markDone(bytes: Uint8Array, path: string, story: StoryIdentity): MarkResult {
  const read = readPrdFile(bytes, path);
  const draft = findAgain(read.draft.stories, story);
  if (draft === undefined) return { kind: 'gone' };
  if (draft.status === 'done') return { kind: 'unchanged' };
  const text = applyEdits(read.document.text, findEdits(read, draft));
  const marked = new TextEncoder().encode(`${read.hadMark ? '\uFEFF' : ''}${text}`);
  assertDone(readPrdFile(marked, path), { draft, before: read });
  return { kind: 'marked', bytes: marked };
}

function findAgain(stories: DraftStory[], story: StoryIdentity): DraftStory | undefined {
  const own = stories.find(({ id, ownId }) => ownId !== undefined && id === story.id);
  if (own !== undefined) return own;
  const digest = digestStory(story);
  const same = stories.filter((each) => each.ownId === undefined && digestStory(each) === digest);
  const open = same.filter(({ status }) => status !== 'done');
  // Twins: one is as good as the other, but the one of the same name comes first.
  return open.find(({ id }) => id === story.id) ?? open[0] ?? same[0];
}

function findEdits({ dialect, document, draft: { stories } }: ReadPrd, draft: DraftStory): Edit[] {
  if (draft.mark.kind === 'boxes') return markBoxes(draft.mark);
  const others = stories.flatMap(({ mark, status }) => (mark.kind === 'json' && status === 'done' ? [mark.at] : []));
  const doneWord = dialect.format === 'json' ? dialect.doneWord : 'done';
  return markJson(draft.mark.at, { text: document.text, done: others, doneWord });
}

/** Nothing is handed out that would read otherwise than it should. */
function assertDone(after: ReadPrd, { draft, before }: { draft: DraftStory; before: ReadPrd }): void {
  const index = before.draft.stories.indexOf(draft);
  const isDone = after.draft.stories[index]?.status === 'done';
  const isSame = after.prd.specHash === before.prd.specHash;
  const count = (read: ReadPrd) => read.draft.stories.filter(({ status }) => status === 'done').length;
  if (isDone && isSame && count(after) === count(before) + 1) return;
  throw new Error(`marking ${JSON.stringify(draft.id)} as done would change more than its progress`);
}
