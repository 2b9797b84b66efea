import { findHiddenCharacter, visualSkeleton, quoteExactly } from '../../core/text/look-alike.ts';
import type { DraftStory } from '../dialect.ts';
import { locationOf, type Diagnostics, type SourceLocation } from '../diagnostics.ts';

const MAX_ID_LENGTH = 200;

/** Returns the reason why a text cannot be a story id; undefined if it can. */
export function findIdProblem(id: string): string | undefined {
  if (id === '') return 'is empty';
  if (id.length > MAX_ID_LENGTH) return `is longer than ${MAX_ID_LENGTH} characters`;
  const hidden = findHiddenCharacter(id);
  return hidden === undefined ? undefined : `contains a control or hidden character (${hidden})`;
}

/** Adds a problem for each id that looks like another id. */
export function reportLookAlikeIds(stories: DraftStory[], diagnostics: Diagnostics): void {
  const first = new Map<string, DraftStory>();
  for (const story of stories) {
    const look = visualSkeleton(story.id);
    const earlier = first.get(look);
    if (earlier === undefined) first.set(look, story);
    else if (earlier.id !== story.id) {
      const pair = `${quoteExactly(story.id)} looks like the id ${quoteExactly(earlier.id)} of ${earlier.at.file ?? earlier.at.where}`;
      diagnostics.problems.push({ ...idPlace(story), rule: `the id ${pair}` });
    }
  }
}

/** Adds a problem for each id that an earlier story has. */
export function reportDuplicateIds(stories: DraftStory[], diagnostics: Diagnostics): void {
  const first = new Map<string, SourceLocation>();
  for (const story of stories) {
    const { id } = story;
    const earlier = first.get(id);
    if (earlier === undefined) first.set(id, story.at);
    else {
      const rule = `the id "${id}" is already used by ${earlier.file ?? earlier.where}`;
      diagnostics.problems.push({ ...idPlace(story), rule });
    }
  }
}

/**
 * Makes ids unique: if at most one story with an id is not done and no story depends on the id, the done ones are renamed
 * to `id~2`, `id~3`, …, with a warning. Any other duplicate is a problem.
 */
export function renameDoneDuplicates(stories: DraftStory[], diagnostics: Diagnostics): DraftStory[] {
  const groups = groupById(stories);
  const depended = new Set(stories.flatMap(({ dependsOn }) => dependsOn.map(({ id }) => id)));
  const newIds = new Map<DraftStory, string>();
  for (const [id, group] of groups) {
    const open = group.filter(({ status }) => status !== 'done');
    if (group.length === 1) continue;
    if (open.length > 1 || depended.has(id)) {
      reportDuplicateIds(group, diagnostics);
      continue;
    }
    const keeper = open[0] ?? group[0];
    let number = 2;
    for (const story of group) {
      if (story === keeper) continue;
      while (groups.has(`${id}~${number}`)) number++;
      newIds.set(story, `${id}~${number++}`);
    }
    diagnostics.warnings.push({
      story: undefined,
      text: `the id "${id}" occurs ${group.length} times; done stories were renamed`,
    });
  }
  return stories.map((story) => ({ ...story, id: newIds.get(story) ?? story.id }));
}

function groupById(stories: DraftStory[]): Map<string, DraftStory[]> {
  const groups = new Map<string, DraftStory[]>();
  for (const story of stories) {
    const group = groups.get(story.id);
    if (group === undefined) groups.set(story.id, [story]);
    else group.push(story);
  }
  return groups;
}

function idPlace({ at, mark }: DraftStory): SourceLocation {
  return { ...locationOf(at), where: mark.kind === 'json' ? `${at.where}.id` : at.where };
}

/** Appends a number to generated ids that occur more than once. */
export function makeIdsUnique(stories: DraftStory[]): DraftStory[] {
  const taken = new Set(stories.flatMap(({ ownId }) => ownId ?? []));
  const numbers = new Map<string, number>();
  return stories.map((story) => {
    if (story.ownId !== undefined) return story;
    let number = numbers.get(story.id) ?? 1;
    let { id } = story;
    while (taken.has(id)) id = `${story.id}~${++number}`;
    taken.add(id);
    numbers.set(story.id, number);
    return { ...story, id };
  });
}
