import { createHash } from 'node:crypto';
import type { Prd, Story } from '../core/prd/prd.ts';
import type { Draft, DraftStory } from './dialect.ts';
import { canonicalKey } from './json/find-member.ts';
import { BOOLEAN_FLAG_KEYS, FLAG_KEYS, STARTED_KEYS, STATUS_KEYS } from './json/field-aliases.ts';

/** Raised when a file of which nothing has changed would get another hash, because halo reads it otherwise. */
const VERSION = 2;

/**
 * sha256 over everything that a file says but progress, behind the version of what that is: two files with one hash ask
 * for the same work. Hashes of other versions say nothing of each other.
 */
export function hashSpecification({ project, description, stories, about }: Draft): string {
  const context = about.filter(({ label }) => !PROGRESS_KEYS.has(label));
  const specification = [project, description, stories.map(specificationOf), withoutProgress(context)];
  return `${VERSION}:${createHash('sha256').update(JSON.stringify(specification)).digest('hex')}`;
}

/** What is known of the PRD that a run was made with. */
export interface KnownPrd {
  hash?: string;
  specHash?: string;
  stories: Pick<Story, 'id' | 'title'>[];
}

/**
 * Whether a PRD asks for the same work as the one of a run. Where an older halo has made the run, and read the file
 * otherwise, its bytes must be the same, or else its stories by id and title: progress may have been written into it.
 */
export function isSameWork(before: KnownPrd, now: Prd): boolean {
  if (before.specHash?.startsWith(`${VERSION}:`)) return before.specHash === now.specHash;
  return before.hash === now.hash || namesOf(before.stories) === namesOf(now.stories);
}

function namesOf(stories: Pick<Story, 'id' | 'title'>[]): string {
  return JSON.stringify(stories.map(({ id, title }) => JSON.stringify([id, title])).sort());
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

/** Keys under which loops keep progress and what they found, with those that halo reads. */
export const PROGRESS_KEYS = new Set([
  ...FLAG_KEYS,
  ...STARTED_KEYS,
  ...STATUS_KEYS,
  ...BOOLEAN_FLAG_KEYS,
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

/** Values without what progress changes of them. */
export function withoutProgress(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutProgress);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !PROGRESS_KEYS.has(canonicalKey(key)));
  return kept.map(([key, member]): unknown => [key, withoutProgress(member)]);
}
