import type { Unmarked } from './state.ts';

const MAX_NAMED_STORIES = 5;

/** Describes passed stories that are not marked in the PRD file. Not safe to print. */
export function unmarkedText({ stories, reason }: Unmarked): string {
  const more = stories.length - MAX_NAMED_STORIES;
  const named = `${stories.slice(0, MAX_NAMED_STORIES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return `${named} passed, but the PRD file could not be marked: ${reason}`;
}

/** The same with advice, for the end of a run. */
export function unmarkedAdvice(unmarked: Unmarked): string {
  return `${unmarkedText(unmarked).replace(/\.$/, '')}. Mark them by hand; otherwise the next run does them again.`;
}
