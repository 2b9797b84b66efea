import { listSome, oneLine } from '../../lib/text.ts';
import type { ContextEntry, Draft, DraftStory } from '../dialect.ts';
import type { Diagnostics } from '../diagnostics.ts';
import { addWarning } from '../json/object-reader.ts';
import { formOf } from './labels.ts';
import { ancestorsOf, splitSign, type Line, type OutlineSection } from './outline.ts';
import { remarkOn, type MarkdownDocument } from './blocks.ts';
import { findSkipHeading, isExample, priorityOf } from './sections.ts';
import { defined } from '../../lib/guards.ts';

interface Stories {
  /** The section of each story, in the order of the stories. */
  sections: OutlineSection[];
  /** The lines that belong to stories. */
  used: ReadonlySet<Line>;
  diagnostics: Diagnostics;
}

/**
 * Reads everything around the stories: the title, the text below it, and the text of all other sections. The text of a
 * section with stories applies only to them.
 */
export function readSurroundings(
  { outline, frontMatter }: MarkdownDocument,
  { sections, used, diagnostics }: Stories,
): Pick<Draft, 'project' | 'description' | 'about'> {
  const title = outline.find(({ heading }) => heading?.level === 1);
  const described = title ?? outline[0];
  const textOf = ({ lines }: OutlineSection) => textOfLines(lines.filter((line) => !used.has(line)));
  const places = new Map<OutlineSection, number[]>();
  for (const [place, section] of sections.entries()) {
    for (const each of ancestorsOf(section)) {
      const there = places.get(each);
      if (there === undefined) places.set(each, [place]);
      else there.push(place);
    }
  }
  const about = outline.flatMap((section): ContextEntry[] => {
    const value = section === described ? '' : textOf(section);
    const stories = section.isTitle || section.heading === undefined ? undefined : places.get(section);
    return value === '' ? [] : [{ label: labelOf(section), value, ...defined({ stories }) }];
  });
  warnOfEmptyHeadings(outline, { places, diagnostics });
  return {
    project: title?.heading === undefined ? '' : oneLine(nameOfFile(title.heading)),
    description: described === undefined ? '' : textOf(described),
    about: [...(frontMatter.text.trim() === '' ? [] : [{ label: 'front matter', value: frontMatter.text }]), ...about],
  };
}

function nameOfFile(title: Line): string {
  return splitSign(title).text.replace(/^(?:prd|tasks|plan)\s?:\s/i, '');
}

/**
 * Warns if a reading is likely to be wrong: all checkboxes are ticked, but no story is done, or two stories have the same
 * title.
 */
export function warnOfProgress({ lines }: MarkdownDocument, stories: DraftStory[], diagnostics: Diagnostics): void {
  const boxes = lines.flatMap(({ box }) => box ?? []);
  const ticked = boxes.filter(({ mark }) => mark.toLowerCase() === 'x').length;
  if (ticked > 0 && ticked === boxes.length && stories.every(({ status }) => status !== 'done'))
    diagnostics.warnings.unshift({
      story: undefined,
      text: `all ${ticked} checkboxes are ticked, but no story is done: check how the file is read before a run`,
    });
  const byTitle = new Map<string, DraftStory[]>();
  for (const story of stories) {
    const title = formOf(story.title.replace(/\([^()]{0,100}\)\W{0,3}$/, '')).replace(
      /^(?:task|story|step) \d{1,6} /,
      '',
    );
    const same = byTitle.get(title);
    if (same === undefined) byTitle.set(title, [story]);
    else same.push(story);
  }
  const repeated = [...byTitle.values()].filter(
    (same) => same.length > 1 && same.some(({ ownId }) => ownId !== undefined),
  );
  if (repeated.length > 0) {
    const pairs = repeated.map((same) =>
      same
        .slice(0, 3)
        .map(({ id }) => id)
        .join(' and '),
    );
    const text = `stories with the same title may be the same work: ${listSome(pairs, MAX_PAIRS)}`;
    addWarning({ diagnostics }, undefined, text);
  }
}

const MAX_PAIRS = 3;

/** Warns about headings without content, except those that templates provide for stories. */
function warnOfEmptyHeadings(
  outline: OutlineSection[],
  { places, diagnostics }: { places: ReadonlyMap<OutlineSection, number[]>; diagnostics: Diagnostics },
): void {
  const parents = new Set(outline.map(({ parent }) => parent));
  const empty = outline.flatMap((section): Line[] => {
    const { heading, lines, isTitle } = section;
    if (heading === undefined || isTitle || parents.has(section) || places.has(section)) return [];
    return lines.some(({ kind }) => kind !== 'blank') || isPlaceOfStories(heading.text) ? [] : [heading];
  });
  if (empty.length > 0) addWarning({ diagnostics }, undefined, remarkOn(empty, 'headings without content are ignored'));
}

function isPlaceOfStories(heading: string): boolean {
  if (priorityOf([heading]) !== undefined || findSkipHeading([heading]) !== undefined || isExample([heading]))
    return true;
  return /^\W*(?:completed?|done|finished|tasks|stories|user stories|to-?do|backlog|in progress|blocked|notes)\W*$/i.test(
    heading,
  );
}

/** Joins lines with one blank line between paragraphs. */
export function textOfLines(lines: readonly Line[]): string {
  const indents = lines.flatMap(({ kind, raw }) => (kind === 'blank' ? [] : [raw.length - raw.trimStart().length]));
  const indent = Math.min(...indents.slice(0, 10_000), 1000);
  const texts = lines.map(({ raw }) => raw.slice(Math.min(indent, raw.length - raw.trimStart().length)));
  return texts
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

function labelOf(section: OutlineSection): string {
  const names = ancestorsOf(section).flatMap(({ heading, isTitle }) =>
    heading === undefined || isTitle ? [] : [splitSign(heading).text],
  );
  return names.length === 0 ? 'before the first heading' : oneLine(names.reverse().join(' › '));
}
