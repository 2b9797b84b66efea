import { truncate, safeJson } from '../../core/text/safe-text.ts';
import type { DraftStory } from '../dialect.ts';
import type { Diagnostics } from '../diagnostics.ts';
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
      const rule = findFault(story, byId.get(id), id);
      if (rule !== undefined) diagnostics.problems.push({ where: at.where, offset: at.offset, rule });
    }
  }
  const sorted = sortByDependencies(stories, byId, diagnostics);
  return sorted === undefined ? stories : blockWaiting(stories, sorted, diagnostics);
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

function findFault(story: DraftStory, needed: DraftStory | undefined, id: string): string | undefined {
  const pair = `"${story.id}" depends on ${safeJson(id)}`;
  if (needed === undefined) return `${pair}, which is not in this file`;
  return needed === story ? `${pair}, which is the story itself` : undefined;
}

/** Sorts stories topologically; undefined, with a problem, if there is a cycle. */
function sortByDependencies(
  stories: DraftStory[],
  byId: Map<string, DraftStory>,
  diagnostics: Diagnostics,
): DraftStory[] | undefined {
  const waiting = new Map<DraftStory, number>();
  const followers = new Map<DraftStory, DraftStory[]>();
  for (const story of stories) {
    const needed = neededBy(story, byId);
    waiting.set(story, needed.length);
    for (const each of needed) {
      const list = followers.get(each);
      if (list === undefined) followers.set(each, [story]);
      else list.push(story);
    }
  }
  const sorted = stories.filter((story) => waiting.get(story) === 0);
  for (const story of sorted) {
    for (const follower of followers.get(story) ?? []) {
      const left = (waiting.get(follower) ?? 0) - 1;
      waiting.set(follower, left);
      if (left === 0) sorted.push(follower);
    }
  }
  if (sorted.length === stories.length) return sorted;
  const free = new Set(sorted);
  diagnostics.problems.push(
    describeCircle(
      stories.filter((story) => !free.has(story)),
      byId,
    ),
  );
  return undefined;
}

function neededBy(story: DraftStory, byId: Map<string, DraftStory>): DraftStory[] {
  const needed = new Set(story.dependsOn.flatMap(({ id }) => byId.get(id) ?? []));
  needed.delete(story);
  return [...needed];
}

/** Follows dependencies among the unsorted stories until one repeats. */
function describeCircle(left: DraftStory[], byId: Map<string, DraftStory>): Diagnostics['problems'][number] {
  const among = new Set(left);
  const path: DraftStory[] = [];
  const places = new Map<DraftStory, number>();
  let story = left[0];
  while (story !== undefined && !places.has(story)) {
    places.set(story, path.length);
    path.push(story);
    story = neededBy(story, byId).find((each) => among.has(each));
  }
  const circle = path.slice(story === undefined ? 0 : places.get(story)).map(({ id }) => `"${id}"`);
  const shown = circle.length > 12 ? [...circle.slice(0, 6), '…', ...circle.slice(-5)] : circle;
  const { where, offset } = (story ?? left[0])?.at ?? { where: '', offset: 0 };
  return { where, offset, rule: `dependency cycle: ${[...shown, circle[0]].join(' → ')}` };
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
