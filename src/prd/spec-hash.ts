import { createHash } from 'node:crypto';
import type { Draft, DraftStory } from './dialect.ts';
import { FLAG_KEYS, STARTED_KEYS, STATUS_KEY } from './keys.ts';

/** sha256 over everything that a file says but progress: two files with one hash ask for the same work. */
export function hashSpecification({ project, description, stories, extra }: Draft): string {
  const specification = [project, description, stories.map(specificationOf), withoutProgress(extra)];
  return createHash('sha256').update(JSON.stringify(specification)).digest('hex');
}

/** sha256 over the texts of a story, by which it is known again where it has no id. */
export function digestStory(story: Pick<DraftStory, 'title' | 'description' | 'acceptance'>): string {
  const { title, description, acceptance } = story;
  return createHash('sha256')
    .update(JSON.stringify([title, description, acceptance]))
    .digest('hex');
}

/** Made-up ids are left out: they follow from the order and may depend on what is done. Notes are the loop's own. */
function specificationOf(story: DraftStory): unknown {
  const { ownId, title, description, acceptance, dependsOn, extra } = story;
  const priority = story.ownPriority ?? story.priority;
  const needed = dependsOn.map(({ id }) => id);
  return [ownId ?? null, title, description, acceptance, priority ?? null, needed, withoutProgress(extra)];
}

/** Keys under which loops keep progress and what they found, besides those that halo reads. */
const PROGRESS_KEYS = new Set([
  ...FLAG_KEYS,
  ...STARTED_KEYS,
  STATUS_KEY,
  'notes',
  'completionNotes',
  'completedAt',
  'completed_at',
  'startedAt',
  'started_at',
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

function withoutProgress(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutProgress);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !PROGRESS_KEYS.has(key));
  return kept.map(([key, member]): unknown => [key, withoutProgress(member)]);
}
