import type { Story, StoryStatus } from '../core/prd/prd.ts';
import type { DraftStory } from './dialect.ts';
import { applyEdits } from './json/text-edits.ts';
import type { JsonValue } from './json/json-positions.ts';
import { readPrdFile, type ReadPrd } from './parse-prd.ts';
import { digestStory, PROGRESS_KEYS } from './spec-hash.ts';

export interface PrdVersions {
  before: Uint8Array;
  after: Uint8Array;
  /** For messages. */
  path: string;
  /** The story whose work changed the file. */
  story: Pick<Story, 'id' | 'title' | 'description' | 'acceptance'>;
}

export interface PrdChange {
  /** Nothing differs but the mark of that story (done or under way), its notes, and dates and counters of the file. */
  isOwnMark: boolean;
  /** What else differs, in words that go on after the name of the file. */
  what: string[];
}

/** Keys of dates and counters, wherever they are in the file; the next agent may read them, so they hold no sentences. */
const BOOKKEEPING = new Set([
  ...['updated', 'updatedAt', 'updated_at', 'lastUpdated', 'last_updated'],
  ...['iteration', 'current_task_id', 'last_completed_task_id'],
]);

/**
 * Compares two versions of a PRD as a story that has worked in between may have left them; undefined when neither is
 * one. Pure, and never throws.
 */
export function judgePrdChange({ before, after, path, story }: PrdVersions): PrdChange | undefined {
  const [old, now] = [tryRead(before, path), tryRead(after, path)];
  if (old === undefined && now === undefined) return undefined;
  if (old === undefined || now === undefined) {
    const what = old === undefined ? 'changes it, which could not be read before' : 'makes it unreadable';
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
  const what = describe(old, now, ownNow);
  return { isOwnMark, what: what.length > 0 ? what : ['changes what it says besides'] };
}

function tryRead(bytes: Uint8Array, path: string): ReadPrd | undefined {
  try {
    return readPrdFile(bytes, path);
  } catch {
    return undefined;
  }
}

/** By its id, title and criteria, or by all of its texts where it has no id; undefined also where several are alike. */
function findOwn({ draft }: ReadPrd, story: PrdVersions['story']): DraftStory | undefined {
  const looks = ({ title, acceptance }: PrdVersions['story']) => JSON.stringify([title, acceptance]);
  const found = draft.stories.filter((each) =>
    // Another PRD may have a story of the same id.
    each.ownId === undefined
      ? digestStory(each) === digestStory(story)
      : each.id === story.id && looks(each) === looks(story),
  );
  return found.length === 1 ? found[0] : undefined;
}

/** The file without what the story may change in it, in a form in which white space of JSON does not count. */
function withoutMark({ document }: ReadPrd, { mark }: DraftStory): string {
  if (document.format === 'json')
    return JSON.stringify(strip(document.json, mark.kind === 'json' ? mark.at : undefined));
  const { boxes, headingEnd = 0 } = mark.kind === 'boxes' ? mark : { boxes: [] };
  const sign = /[\s✅☑✔\uFE0F]*$/u.exec(document.text.slice(0, headingEnd))?.[0].length ?? 0;
  return applyEdits(document.text, [
    ...boxes.map((at) => ({ from: at, to: at + 1, text: ' ' })),
    { from: headingEnd - sign, to: headingEnd, text: '' },
  ]);
}

function strip(value: JsonValue, own: JsonValue | undefined, isOwn = value === own): unknown {
  if (value.kind === 'array') return value.items.map((item) => strip(item, own, isOwn || item === own));
  if (value.kind !== 'object') return value.value;
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
  in_progress: 'under way',
  pending: 'open',
  blocked: 'blocked',
  skipped: 'left out',
};

function describe(old: ReadPrd, now: ReadPrd, own: DraftStory | undefined): string[] {
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
      : ['changes what it says about the project']),
  ];
}

function describeStory(was: DraftStory | undefined, is: DraftStory | undefined, isOwn: boolean): string[] {
  if (was === undefined || is === undefined) return [];
  const told = (what: string, of: (story: DraftStory) => unknown) =>
    JSON.stringify(of(was)) === JSON.stringify(of(is)) ? [] : [`${what} ${is.id}`];
  const isMark = isOwn && ['done', 'in_progress'].includes(is.status);
  return [
    ...(was.status === is.status || isMark ? [] : [`marks ${is.id} as ${STATUS_WORDS[is.status]}`]),
    ...told('changes the criteria of', ({ acceptance }) => acceptance),
    ...told('changes the text of', ({ title, description }) => [title, description]),
    ...told('changes when it is the turn of', ({ priority, ownPriority, dependsOn }) => [
      ownPriority ?? priority,
      dependsOn.map(({ id }) => id),
    ]),
    ...(isOwn ? [] : told('changes the notes of', ({ notes }) => notes)),
  ];
}

function byKey({ draft }: ReadPrd): Map<string, DraftStory> {
  return new Map(draft.stories.map((story) => [keyOfDraft(story), story]));
}

function keyOfDraft(story: DraftStory): string {
  return story.ownId === undefined ? digestStory(story) : story.id;
}
