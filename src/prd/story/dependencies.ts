import { dependenciesFirst, findCycle } from '../../core/run/dependency-order.ts';
import { truncate, safeJson } from '../../core/text/safe-text.ts';
import type { DraftStory } from '../dialect.ts';
import { locationOf, type Diagnostics } from '../diagnostics.ts';
import { addWarning } from '../json/object-reader.ts';

/**
 * Checks dependencies: unknown stories, self-references and cycles are problems. An open story that depends on a
 * blocked or skipped one becomes blocked, with a warning.
 */
export function resolveDependencies(drafts: DraftStory[], diagnostics: Diagnostics): DraftStory[] {
  const stories = dropUnknownLooseDependencies(drafts, diagnostics);
  const byId = new Map(stories.map((story) => [story.id, story]));
  for (const story of stories) {
    for (const { id, at } of story.dependsOn) {
      const rule = findDependencyFault(story, byId.get(id), id);
      if (rule !== undefined) diagnostics.problems.push({ ...locationOf(at), rule });
    }
  }
  const needed = new Map(stories.map((story) => [story, neededBy(story, byId)]));
  const dependenciesOf = (story: DraftStory) => needed.get(story) ?? [];
  const cycle = findCycle(stories, dependenciesOf);
  if (cycle === undefined) return blockWaiting(stories, dependenciesFirst(stories, dependenciesOf), diagnostics);
  diagnostics.problems.push(describeCycle(cycle));
  return stories;
}

/** Drops loose dependencies on ids that are not stories; they stay in the text for the agent. */
function dropUnknownLooseDependencies(stories: DraftStory[], diagnostics: Diagnostics): DraftStory[] {
  const ids = new Set(stories.map(({ id }) => id));
  return stories.map((story) => {
    const others = story.dependsOn.filter(({ id, loose }) => loose && !ids.has(id));
    for (const { id } of others)
      addWarning(
        { diagnostics },
        story.id,
        `needs "${truncate(id, 60)}", which is not a story; the agent gets it as text`,
      );
    return others.length === 0
      ? story
      : { ...story, dependsOn: story.dependsOn.filter((each) => !others.includes(each)) };
  });
}

function findDependencyFault(story: DraftStory, needed: DraftStory | undefined, id: string): string | undefined {
  const pair = `"${story.id}" depends on ${safeJson(id)}`;
  if (needed === undefined) return `${pair}, which is not in this file`;
  return needed === story ? `${pair}, which is the story itself` : undefined;
}

function neededBy(story: DraftStory, byId: Map<string, DraftStory>): DraftStory[] {
  const needed = new Set(story.dependsOn.flatMap(({ id }) => byId.get(id) ?? []));
  needed.delete(story);
  return [...needed];
}

function describeCycle(cycle: DraftStory[]): Diagnostics['problems'][number] {
  const ids = cycle.map(({ id }) => `"${id}"`);
  const shown = ids.length > 12 ? [...ids.slice(0, 6), '…', ...ids.slice(-5)] : ids;
  const at = cycle[0]?.at ?? { where: '', offset: 0 };
  return { ...locationOf(at), rule: `dependency cycle: ${[...shown, ids[0]].join(' → ')}` };
}

function blockWaiting(stories: DraftStory[], sorted: DraftStory[], diagnostics: Diagnostics): DraftStory[] {
  const stuck = new Map<string, DraftStory['status']>();
  for (const story of sorted) {
    const { id, status } = story;
    if (status === 'blocked' || status === 'skipped') stuck.set(id, status);
    if (status !== 'pending' && status !== 'in_progress') continue;
    const cause = story.dependsOn.find((needed) => stuck.has(needed.id));
    if (cause === undefined) continue;
    stuck.set(id, 'blocked');
    addWarning({ diagnostics }, id, `depends on "${cause.id}", which is ${stuck.get(cause.id)}, so it is blocked too`);
  }
  return stories.map((story) => {
    const isOpen = story.status === 'pending' || story.status === 'in_progress';
    return isOpen && stuck.has(story.id) ? { ...story, status: 'blocked' } : story;
  });
}
