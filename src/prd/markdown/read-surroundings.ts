import { toOneLine } from '../../lib/one-line.ts';
import type { About, Draft } from '../dialect.ts';
import type { Findings } from '../findings.ts';
import { addWarning } from '../json/object-reader.ts';
import type { Line } from './line.ts';
import { chainOf, type OutlineSection } from './outline.ts';
import { isRule, linesOf, type MarkdownDocument } from './scan-markdown.ts';
import { asideHeading, isExample, priorityOf } from './sections.ts';

export interface Stories {
  /** The section of each story, in the order of the stories. */
  sections: OutlineSection[];
  /** The lines that belong to stories. */
  used: ReadonlySet<Line>;
  findings: Findings;
}

/**
 * What a file says around its stories: its title, the text below that, and the texts of all other sections, those with
 * stories for these alone.
 */
export function readSurroundings(
  { outline, frontMatter }: MarkdownDocument,
  { sections, used, findings }: Stories,
): Pick<Draft, 'project' | 'description' | 'about'> {
  const title = outline.find(({ heading }) => heading?.level === 1);
  const described = title ?? outline[0];
  const textOf = ({ lines }: OutlineSection) => textOfLines(lines.filter((line) => !used.has(line)));
  const places = new Map<OutlineSection, number[]>();
  for (const [place, section] of sections.entries()) {
    for (const each of chainOf(section)) {
      const there = places.get(each);
      if (there === undefined) places.set(each, [place]);
      else there.push(place);
    }
  }
  const about = outline.flatMap((section): About[] => {
    const value = section === described ? '' : textOf(section);
    const stories = section.isTitle || section.heading === undefined ? undefined : places.get(section);
    return value === '' ? [] : [{ label: labelOf(section), value, ...(stories === undefined ? {} : { stories }) }];
  });
  tellOfEmpty(outline, { places, findings });
  return {
    // The sign of a story that is done is no part of a name.
    project: toOneLine((title?.heading?.text ?? '').replaceAll('✅', '').replace(/^(?:prd|tasks|plan)\s?:\s/i, '')),
    description: described === undefined ? '' : textOf(described),
    about: [...(frontMatter.trim() === '' ? [] : [{ label: 'front matter', value: frontMatter }]), ...about],
  };
}

/** Headings without anything below them reach no prompt; templates have some for stories that are not there yet. */
function tellOfEmpty(
  outline: OutlineSection[],
  { places, findings }: { places: ReadonlyMap<OutlineSection, number[]>; findings: Findings },
): void {
  const parents = new Set(outline.map(({ parent }) => parent));
  const empty = outline.flatMap((section): Line[] => {
    const { heading, lines, isTitle } = section;
    if (heading === undefined || isTitle || parents.has(section) || places.has(section)) return [];
    return lines.some(({ kind }) => kind !== 'blank') || isPlaceOfStories(heading.text) ? [] : [heading];
  });
  if (empty.length > 0)
    addWarning({ findings }, undefined, `headings with nothing below them are left out: ${linesOf(empty)}`);
}

function isPlaceOfStories(heading: string): boolean {
  if (priorityOf([heading]) !== undefined || asideHeading([heading]) !== undefined || isExample([heading])) return true;
  return /^\W*(?:completed?|done|finished|tasks|stories|user stories|to-?do|backlog|in progress|blocked|notes)\W*$/i.test(
    heading,
  );
}

/** Lines as they stand there, without rules across the page and with one blank line between paragraphs. */
export function textOfLines(lines: readonly Line[]): string {
  const shown = lines.filter(({ kind, text }) => kind === 'code' || !isRule(text));
  const indents = shown.flatMap(({ kind, raw }) => (kind === 'blank' ? [] : [raw.length - raw.trimStart().length]));
  const indent = Math.min(...indents.slice(0, 10_000), 1000);
  const texts = shown.map(({ raw }) => raw.slice(Math.min(indent, raw.length - raw.trimStart().length)));
  return texts
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

function labelOf(section: OutlineSection): string {
  const names = chainOf(section).flatMap(({ heading, isTitle }) =>
    heading === undefined || isTitle ? [] : [heading.text],
  );
  return names.length === 0 ? 'before the first heading' : toOneLine(names.reverse().join(' › '));
}
