import type { Story } from '../../core/prd/prd.ts';
import type { DraftStory } from '../dialect.ts';

/** The new content of the place of a story; undefined: it is removed. */
interface StoryReplacement {
  draft: DraftStory;
  story: Story | undefined;
}

/** The changes of a plan file. */
export interface PlanChanges {
  replaced: StoryReplacement[];
  added: Story[];
}
