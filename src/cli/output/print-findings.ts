import type { StoryState } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { findStoryFindings } from '../../core/review/story-findings.ts';
import type { Cli } from '../cli.ts';

/** Prints findings that a reviewer may have overlooked to stderr. */
export async function printFindings(stories: readonly StoryState[], cli: Cli): Promise<void> {
  for (const story of stories)
    for (const { label, text } of findStoryFindings(story)) {
      const what = label === 'tests' ? `tests of ${safeLine(story.id)}: ${text}` : `${safeLine(story.id)}: ${text}`;
      await cli.note(`${cli.paintErr('warn', 'warning:')} ${what}`);
    }
}
