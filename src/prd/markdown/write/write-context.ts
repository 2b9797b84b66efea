import { toDetails } from '../../../core/prd/story-details.ts';
import type { ContextText, Story } from '../../../core/prd/prd.ts';
import { canonicalKey } from '../../json/find-member.ts';
import { isCriteriaName, readLabels } from '../labels.ts';
import { scanMarkdown } from '../scan-markdown.ts';
import { findSkipHeading, isExample, priorityOf } from '../sections.ts';

/** Writes sections for the context of all stories, if they would be read back as context. */
export function writeContext(context: readonly ContextText[] = []): string[] {
  return context.flatMap(({ label, text, stories }) => {
    const isPlain = stories === undefined && !isCriteriaName(label) && !hasMeaning(label) && isProse(text);
    return isPlain ? ['', `## ${label}`, '', text] : [];
  });
}

/** Writes lines for the extra fields of a story, if they can be written as labels. */
export function writeExtra({ extra }: Story): string[] {
  return toDetails(extra).flatMap(({ label, text }) => {
    // The heading is the group.
    if (label === 'group') return [];
    const line = `**${label}:** ${text.includes('\n') ? '' : text}`.trimEnd();
    const [read] = scanMarkdown(line).lines.map(readLabels);
    const isLabel =
      read?.length === 1 && read[0]?.name === label && canonicalKey(label) === label && !isCriteriaName(label);
    if (!isLabel || !isProse(text)) return [];
    return text.includes('\n') ? ['', line, '', text, ''] : [line];
  });
}

/** True for headings that set a priority or skip stories. */
function hasMeaning(label: string): boolean {
  return priorityOf([label]) !== undefined || findSkipHeading([label]) !== undefined || isExample([label]);
}

/** True if no line of a text would be read as a heading, a label or a checkbox. */
function isProse(text: string): boolean {
  const { lines } = scanMarkdown(text);
  return lines.every((line) => line.kind !== 'heading' && line.box === undefined && readLabels(line).length === 0);
}
