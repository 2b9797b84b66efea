import type { StoryState } from '../core/run-state.ts';
import { safeLine } from '../core/safe-text.ts';
import { findingsOf } from '../core/story-findings.ts';
import type { Cli } from './cli.ts';

/** Says on stderr what a reader of the stories' changes may have overlooked. */
export async function tellFindings(stories: readonly StoryState[], cli: Cli): Promise<void> {
  for (const story of stories)
    for (const { label, text } of findingsOf(story)) {
      const what = label === 'tests' ? `tests of ${safeLine(story.id)}: ${text}` : `${safeLine(story.id)}: ${text}`;
      await cli.note(`${cli.paintErr('warn', 'warning:')} ${what}`);
    }
}
