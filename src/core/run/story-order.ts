import type { Story } from '../prd/prd.ts';

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
  return dependenciesFirst(ranked);
}

/** Moves dependencies to the front, otherwise keeps the order. Terminates for dependency cycles. */
function dependenciesFirst<S extends Ordered>(ranked: S[]): S[] {
  const byId = new Map(ranked.map((story) => [story.id, story]));
  const ordered = new Set<S>();
  const visited = new Set<S>();
  // An explicit stack: recursion would overflow for chains of thousands of stories.
  const stack = [...ranked].reverse();
  for (let story = stack.at(-1); story !== undefined; story = stack.at(-1)) {
    const needed = (story.dependsOn ?? []).flatMap((id) => byId.get(id) ?? []).filter((each) => !visited.has(each));
    if (visited.has(story) || needed.length === 0) {
      visited.add(story);
      ordered.add(story);
      stack.pop();
    } else {
      visited.add(story);
      stack.push(...needed.reverse());
    }
  }
  return [...ordered];
}

function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
