import type { CutDetail } from '../../core/prd/story-details.ts';
import type { Prd } from '../../core/prd/prd.ts';
import { contextText, storyText } from '../../core/prd/story-text.ts';
import type { PrdWarning } from '../diagnostics.ts';

/** Context texts, and stories that they name, that are looked at in all: each story can have every text of the file. */
const MAX_COMPARED = 500_000;

/** Warns about texts that are too long for a story's prompt and will be truncated. */
export function findCutTexts(prd: Prd): PrdWarning[] {
  const open = prd.stories.filter(({ status }) => status !== 'done');
  const perStory = prd.context.reduce((sum, { stories = [] }) => sum + 1 + stories.length, 1);
  const compared = open.slice(0, Math.max(1, Math.floor(MAX_COMPARED / perStory)));
  const warnings: PrdWarning[] = compared.flatMap((story) => {
    const cut = [...storyText(story).cut, ...contextText(prd, story.id).cut];
    return cut.map((each) => ({ story: story.id, text: describeCut(each) }));
  });
  const others = open.length - compared.length;
  if (others > 0)
    warnings.push({
      story: undefined,
      text: `${others} stories were not compared with the limits of a prompt, because the file has so much text for all of them`,
    });
  return warnings;
}

function describeCut({ label, length, kept }: CutDetail): string {
  const part = label === 'notes' ? 'last' : 'first';
  return `${label} has ${length} characters, the agent gets ${kept === 0 ? 'none of them' : `the ${part} ${kept}`}`;
}
