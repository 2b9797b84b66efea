import type { DraftStory } from '../dialect.ts';

/** Stories of one text without an id of their own are told apart by a number. */
export function nameRest(stories: DraftStory[]): DraftStory[] {
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
