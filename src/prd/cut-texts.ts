import type { CutDetail } from '../core/prd/story-details.ts';
import type { Prd } from '../core/prd/prd.ts';
import { contextText, storyText } from '../core/prd/story-text.ts';
import type { Warning } from './findings.ts';

/** What is longer than the prompt of a story holds. */
export function findCutTexts(prd: Prd): Warning[] {
  return prd.stories
    .filter(({ status }) => status !== 'done')
    .flatMap((story) => {
      const cut = [...storyText(story).cut, ...contextText(prd, story.id).cut];
      return cut.map((each) => ({ story: story.id, text: describe(each) }));
    });
}

function describe({ label, length, kept }: CutDetail): string {
  const part = label === 'notes' ? 'last' : 'first';
  return `${label} has ${length} characters, of which the agent gets ${kept === 0 ? 'none' : `the ${part} ${kept}`}`;
}
