import type { CutDetail } from '../../core/prd/story-details.ts';
import type { Prd } from '../../core/prd/prd.ts';
import { contextText, storyText } from '../../core/prd/story-text.ts';
import type { PrdWarning } from '../diagnostics.ts';

/** Warns about texts that are too long for a story's prompt and will be truncated. */
export function findCutTexts(prd: Prd): PrdWarning[] {
  return prd.stories
    .filter(({ status }) => status !== 'done')
    .flatMap((story) => {
      const cut = [...storyText(story).cut, ...contextText(prd, story.id).cut];
      return cut.map((each) => ({ story: story.id, text: describeCut(each) }));
    });
}

function describeCut({ label, length, kept }: CutDetail): string {
  const part = label === 'notes' ? 'last' : 'first';
  return `${label} has ${length} characters, the agent gets ${kept === 0 ? 'none of them' : `the ${part} ${kept}`}`;
}
