import { createHash } from 'node:crypto';
import type { Draft, DraftStory } from './dialect.ts';
import { canonicalKey } from './json/object-reader.ts';
import { PROGRESS_FIELD_KEYS, TEXT_FIELDS, filledTexts, type TextFieldName } from '../core/prd/fields.ts';

/** Increase it when a change in parsing gives unchanged files another hash. */
const VERSION = 3;

/**
 * Returns `version:sha256` over everything in a file except progress: files with the same hash specify the same work.
 * Hashes of different versions cannot be compared.
 */
export function hashSpecification({ project, description, stories, about }: Draft): string {
  const context = about.filter(({ label }) => !PROGRESS_KEYS.has(label));
  const specification = [project, description, stories.map(specificationOf), withoutProgress(context)];
  const marked = JSON.stringify(specification);
  const text = MARK.test(marked)
    ? JSON.stringify(specification, (_key, value: unknown) => (typeof value === 'string' ? withoutMarks(value) : value))
    : marked;
  return `${VERSION}:${createHash('sha256').update(text).digest('hex')}`;
}

/** Returns a sha256 over the texts of a story, which identifies a story without an id. */
export function digestStory(story: Pick<DraftStory, 'title' | 'description' | 'acceptance'>): string {
  const { title, description, acceptance } = story;
  return createHash('sha256')
    .update(JSON.stringify([title, withoutMarks(description), acceptance]))
    .digest('hex');
}

/** Excludes generated ids, which depend on order and progress, and notes, which agents write. */
function specificationOf(story: DraftStory): unknown {
  const { ownId, title, description, acceptance, dependsOn, extra } = story;
  const priority = story.ownPriority ?? story.priority;
  const needed = dependsOn.map(({ id }) => id);
  const texts = Object.entries(filledTexts(story)).filter(
    ([name]) => TEXT_FIELDS[name as TextFieldName].isSpecification,
  );
  const of = [ownId ?? null, title, description, acceptance, priority ?? null, needed, withoutProgress(extra)];
  return texts.length === 0 ? of : [...of, texts];
}

const MARK = /\[[xX~\-/>!]\]/;

/** Opens the checkboxes in a text: the text of a story can contain boxes that halo ticks when the story is done. */
function withoutMarks(text: string): string {
  if (!MARK.test(text)) return text;
  return text.replace(
    /^((?:[^\S\n]|>){0,200}(?:(?:[-*+]|\d{1,9}[.)])[^\S\n]{1,200}){1,50}\[)[ xX~\-/>!](?=\])/gm,
    '$1 ',
  );
}

/** Keys for progress and notes: those that halo reads and those that other runners write. */
export const PROGRESS_KEYS = new Set([
  ...PROGRESS_FIELD_KEYS,
  'completionNotes',
  'closedAt',
  'closed_at',
  'close_reason',
  'completedAt',
  'completed_at',
  'startedAt',
  'started_at',
  'updated',
  'updated_date',
  'updatedAt',
  'updated_at',
  'lastUpdated',
  'last_updated',
  'attempts',
  'iteration',
  'current_task_id',
  'last_completed_task_id',
  'metadata',
  'observability',
]);

/** Removes progress keys from a value, at any depth. */
export function withoutProgress(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutProgress);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !PROGRESS_KEYS.has(canonicalKey(key)));
  return kept.map(([key, member]): unknown => [key, withoutProgress(member)]);
}
