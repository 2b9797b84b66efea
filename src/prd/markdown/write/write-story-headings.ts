import type { Story } from '../../../core/prd/prd.ts';
import { sortStories } from '../../../core/run/story-order.ts';
import type { PrdContent } from '../../dialect.ts';
import { findLeadingId } from '../leading-id.ts';
import { writeContext, writeExtra } from './write-context.ts';

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
    ...(story.notes === '' ? [] : [`**Notes:** ${story.notes.replaceAll('\n', ' ')}`]),
    ...writeExtra(story),
    '',
    '**Acceptance Criteria:**',
    '',
    ...acceptance.map((criterion) => `- [${mark}] ${criterion}`),
  ];
}
