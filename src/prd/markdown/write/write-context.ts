import { detailsOf } from '../../../core/prd/story-details.ts';
import type { ContextText, Story } from '../../../core/prd/prd.ts';
import { canonicalKey } from '../../json/find-member.ts';
import { isCriteriaName, readLabels } from '../labels.ts';
import { scanMarkdown } from '../scan-markdown.ts';
import { asideHeading, isExample, priorityOf } from '../sections.ts';

/** Sections for what is said to all stories, as far as they would be read as such. */
export function writeContext(context: readonly ContextText[] = []): string[] {
  return context.flatMap(({ label, text, stories }) => {
    const isPlain = stories === undefined && !isCriteriaName(label) && !hasMeaning(label) && isProse(text);
    return isPlain ? ['', `## ${label}`, '', text] : [];
  });
}

/** Lines for all that a story says besides, as far as a label can carry it. */
export function writeExtra({ extra }: Story): string[] {
  return detailsOf(extra).flatMap(({ label, text }) => {
    // The heading above says that.
    if (label === 'group') return [];
    const line = `**${label}:** ${text.includes('\n') ? '' : text}`.trimEnd();
    const [read] = scanMarkdown(line).lines.map(readLabels);
    const isLabel =
      read?.length === 1 && read[0]?.name === label && canonicalKey(label) === label && !isCriteriaName(label);
    if (!isLabel || !isProse(text)) return [];
    return text.includes('\n') ? ['', line, '', text, ''] : [line];
  });
}

/** Headings by which stories are ranked or left out. */
function hasMeaning(label: string): boolean {
  return priorityOf([label]) !== undefined || asideHeading([label]) !== undefined || isExample([label]);
}

/** Whether nothing in a text would be read as a heading, a label or a checkbox of its own. */
function isProse(text: string): boolean {
  const { lines } = scanMarkdown(text);
  return lines.every((line) => line.kind !== 'heading' && line.box === undefined && readLabels(line).length === 0);
}
