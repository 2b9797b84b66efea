import type { Unmarked } from './run-state.ts';

const MOST_NAMED = 5;

/** What a PRD file does not say of the stories that landed, as a sentence for people; not made safe to print. */
export function unmarkedText({ stories, reason }: Unmarked): string {
  const more = stories.length - MOST_NAMED;
  const named = `${stories.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return `${named} landed, but the PRD file does not say so: ${reason}`;
}

/** The same with what follows from it, for the end of a run. */
export function unmarkedAdvice(unmarked: Unmarked): string {
  return `${unmarkedText(unmarked).replace(/\.$/, '')}. Mark them by hand, or the next run does them again.`;
}
