import { TEXT_FIELD_NAMES, TEXT_FIELDS } from '../../core/prd/fields.ts';
import type { ContextText, Story } from '../../core/prd/prd.ts';
import { toDetails } from '../../core/prd/story-details.ts';
import { sortStories } from '../../core/run/story-order.ts';
import type { PrdContent } from '../dialect.ts';
import { canonicalKey } from '../json/object-reader.ts';
import { isCriteriaName, readLabels } from './labels.ts';
import { findLeadingId } from './leading-id.ts';
import { readBlocks } from './blocks.ts';
import { findSkipHeading, isExample, priorityOf } from './sections.ts';

/** How ids are written: omitted, as a prefix, or in brackets. */
type IdStyle = 'plain' | 'numbered' | 'bracketed';

/** Writes a file of checkboxes: open stories in execution order, then skipped ones, then done ones. */
export function writeCheckboxes({ project, description, context, stories }: PrdContent, style: IdStyle): string {
  const ordered = sortStories(stories);
  const open = ordered.filter(({ status }) => status !== 'done' && status !== 'skipped');
  const aside = ordered.filter(({ status }) => status === 'skipped');
  const done = ordered.filter(({ status }) => status === 'done');
  const sorted = [...open, ...aside, ...done];
  const names = nameAll(sorted, style);
  const write = (story: Story) => writeBox(story, names);
  return [
    `# ${project === '' ? 'Plan' : project}`,
    ...(description === '' ? [] : ['', description]),
    ...writeContext(context),
    ...writeSections(open, write),
    ...writeSection('Deferred', aside.map(write)),
    ...writeSection('Completed', done.map(write)),
    '',
  ].join('\n');
}

interface Names {
  /** The text before the title of a story. */
  prefix: (story: Story) => string;
  /** How others refer to it. */
  reference: (id: string) => string;
}

/** Uses ids if the style can represent them, else numbers in file order. */
function nameAll(stories: Story[], style: IdStyle): Names {
  const places = new Map(stories.map(({ id }, index) => [id, index + 1]));
  if (style === 'plain') return { prefix: () => '', reference: (id) => String(places.get(id) ?? id) };
  const sign = (id: string) => (style === 'bracketed' ? `[${id}]` : `${id}:`);
  // `1` above `1.2` would be read as a group.
  const groups = new Set(stories.flatMap(({ id }) => /^(\d+)\./.exec(id)?.[1] ?? []));
  const fits = stories.every(({ id }) => {
    const found = findLeadingId(`${sign(id)} text`);
    return found?.id === id && found.certain && !groups.has(id);
  });
  const name = (id: string) => {
    const number = String(places.get(id) ?? 0);
    return fits ? id : style === 'bracketed' ? `#${number}` : `T${number.padStart(3, '0')}`;
  };
  return { prefix: ({ id }) => `${sign(name(id))} `, reference: name };
}

/** Writes one section per priority if each open story has one. */
function writeSections(open: Story[], write: (story: Story) => string): string[] {
  if (open.some(({ priority }) => priority === undefined)) return writeSection('Tasks', open.map(write));
  const lines: string[] = [];
  for (const [index, story] of open.entries()) {
    if (index === 0 || open[index - 1]?.priority !== story.priority)
      lines.push('', `## Priority ${story.priority}`, '');
    lines.push(write(story));
  }
  return lines;
}

function writeSection(heading: string, boxes: string[]): string[] {
  return boxes.length === 0 ? [] : ['', `## ${heading}`, '', ...boxes];
}

const MARKS: Record<Story['status'], string> = {
  pending: ' ',
  in_progress: '/',
  done: 'x',
  blocked: '!',
  skipped: ' ',
};

function writeBox(story: Story, { prefix, reference }: Names): string {
  const { title, description, acceptance, dependsOn, status } = story;
  const paragraphs = description === '' || description === title ? [] : ['', ...description.split('\n'), ''];
  return [
    `- [${MARKS[status]}] ${prefix(story)}${title}`,
    ...paragraphs.map((line) => (line === '' ? '' : `  ${line}`)),
    ...acceptance.map((criterion) => `  - ${criterion}`),
    ...(dependsOn.length === 0 ? [] : [`  - Depends on: ${dependsOn.map(reference).join(', ')}`]),
  ].join('\n');
}

/** Writes a file with a heading per story and its criteria as checkboxes; skipped stories are last. */
export function writeStoryHeadings({ project, description, context, stories }: PrdContent): string {
  const open = stories.filter(({ status }) => status !== 'skipped');
  const aside = sortStories(stories.filter(({ status }) => status === 'skipped'));
  const name = namesOf([...open, ...aside]);
  return [
    `# ${project === '' ? 'PRD' : project}`,
    ...(description === '' ? [] : ['', description]),
    ...writeContext(context),
    '',
    '## User Stories',
    ...open.flatMap((story) => writeHeading(story, name)),
    ...(aside.length === 0 ? [] : ['', '## Deferred', ...aside.flatMap((story) => writeHeading(story, name))]),
    '',
  ].join('\n');
}

/** Uses ids if headings can represent them, else numbers. */
function namesOf(stories: Story[]): (id: string) => string {
  const fits = stories.every(({ id }) => findLeadingId(`${id}: text`)?.id === id);
  const places = new Map(stories.map(({ id }, index) => [id, index + 1]));
  return (id) => (fits ? id : `US-${String(places.get(id) ?? 0).padStart(3, '0')}`);
}

function writeHeading(story: Story, name: (id: string) => string): string[] {
  const { id, title, description, acceptance, priority, dependsOn, status } = story;
  const [first = '', ...rest] = description.split('\n');
  const mark = status === 'done' ? 'x' : ' ';
  return [
    '',
    `### ${name(id)}: ${title}${status === 'done' && acceptance.length === 0 ? ' ✅' : ''}`,
    '',
    ...(priority === undefined ? [] : [`**Priority:** ${priority}`]),
    ...(dependsOn.length === 0 ? [] : [`**Depends on:** ${dependsOn.map(name).join(', ')}`]),
    ...(first === '' ? [] : [`**Description:** ${first}`, ...rest]),
    ...TEXT_FIELD_NAMES.flatMap((each) => {
      const text = story[each] ?? '';
      return text === '' ? [] : [`**${TEXT_FIELDS[each].title}:** ${text.replaceAll('\n', ' ')}`];
    }),
    ...writeExtra(story),
    '',
    '**Acceptance Criteria:**',
    '',
    ...acceptance.map((criterion) => `- [${mark}] ${criterion}`),
  ];
}

/** Writes sections for the context of all stories, if they would be read back as context. */
function writeContext(context: readonly ContextText[] = []): string[] {
  return context.flatMap(({ label, text, stories }) => {
    const isPlain = stories === undefined && !isCriteriaName(label) && !hasMeaning(label) && isProse(text);
    return isPlain ? ['', `## ${label}`, '', text] : [];
  });
}

/** Writes lines for the extra fields of a story, if they can be written as labels. */
function writeExtra({ extra }: Story): string[] {
  return toDetails(extra).flatMap(({ label, text }) => {
    // The heading is the group.
    if (label === 'group') return [];
    const line = `**${label}:** ${text.includes('\n') ? '' : text}`.trimEnd();
    const [read] = readBlocks(line).lines.map(readLabels);
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
  const { lines } = readBlocks(text);
  return lines.every((line) => line.kind !== 'heading' && line.box === undefined && readLabels(line).length === 0);
}
