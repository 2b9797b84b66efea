import type { Story } from '../prd/prd.ts';
import { dependenciesFirst } from './dependency-order.ts';

/** The fields that determine the execution order. */
type Ordered = Pick<Story, 'id' | 'status' | 'priority'> & Partial<Pick<Story, 'dependsOn'>>;

/**
 * Sorts stories into execution order: dependencies first, then stories in progress, then by priority, then by position in
 * the file.
 */
export function sortStories<S extends Ordered>(stories: S[]): S[] {
  const begun = (story: S) => (story.status === 'in_progress' ? 0 : 1);
  const rank = (story: S) => story.priority ?? Infinity;
  const ranked = stories
    .map((story, place) => ({ story, place }))
    .sort((a, b) => begun(a.story) - begun(b.story) || compare(rank(a.story), rank(b.story)) || a.place - b.place)
    .map(({ story }) => story);
  const byId = new Map(ranked.map((story) => [story.id, story]));
  return dependenciesFirst(ranked, ({ dependsOn = [] }) => dependsOn.flatMap((id) => byId.get(id) ?? []));
}

function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
