import type { Story } from '../../../core/prd/prd.ts';
import { sortStories } from '../../../core/run/story-order.ts';
import type { PrdContent } from '../../dialect.ts';
import { findLeadingId } from '../leading-id.ts';
import { writeContext } from './write-context.ts';

/** How ids are written: omitted, as a prefix, or in brackets. */
export type IdStyle = 'plain' | 'numbered' | 'bracketed';

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
