import { inOrder } from '../core/run-state.ts';
import type { DraftStory } from './dialect.ts';
import type { Findings } from './findings.ts';

/**
 * Adds a problem for each open story that depends on one which is unknown, would run later, or will not run at all:
 * stories run by priority and then by place in the file, so that one would start without what it builds on.
 */
export function checkDependencies(stories: DraftStory[], findings: Findings): void {
  const byId = new Map(stories.map((story) => [story.id, story]));
  const places = new Map(inOrder(stories).map((story, place) => [story.id, place]));
  for (const story of stories) {
    for (const { id, at } of story.dependsOn) {
      const rule = findFault(story, byId.get(id), { id, places });
      if (rule !== undefined) findings.problems.push({ where: at.where, offset: at.offset, rule });
    }
  }
}

function findFault(
  story: DraftStory,
  needed: DraftStory | undefined,
  { id, places }: { id: string; places: Map<string, number> },
): string | undefined {
  const pair = `"${story.id}" depends on "${id}"`;
  if (needed === undefined) return `${pair}, which is not in this file`;
  if (needed.id === story.id) return `${pair}, which is itself`;
  if (!isOpen(story) || needed.status === 'done') return undefined;
  if (!isOpen(needed)) return `${pair}, which is ${needed.status} and will not run`;
  const isLater = (places.get(needed.id) ?? 0) > (places.get(story.id) ?? 0);
  return isLater ? `${pair}, which would run later; change priority or order` : undefined;
}

function isOpen({ status }: DraftStory): boolean {
  return status === 'pending' || status === 'in_progress';
}
