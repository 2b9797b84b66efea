import type { DialectId } from '../../../src/prd/dialect-registry.ts';

/** A story, as each dialect writes it. */
export interface Sample {
  id: string;
  title?: string;
  done?: boolean;
  needs?: string[];
}

export type Json = Record<string, unknown>;

export interface JsonWriter {
  document: (stories: Json[]) => unknown;
  story: (sample: Sample) => Json;
}

const CRITERIA = ['It works', 'It is tested'];
const about = { project: 'shop', description: 'A small shop.' };
const titleOf = ({ id, title }: Sample) => title ?? `Title of ${id}`;

/** How each JSON dialect is written by hand. */
export const JSON_WRITERS = {
  hanuman: {
    document: (stories) => ({ schemaVersion: '0.1', ...about, stories }),
    story: (sample) => ({
      id: sample.id,
      title: titleOf(sample),
      size: 'S',
      acceptance: CRITERIA,
      ...(sample.done === undefined ? {} : { status: sample.done ? 'done' : 'todo' }),
      ...(sample.needs === undefined ? {} : { dependsOn: sample.needs }),
    }),
  },
  lever: {
    document: (tasks) => ({ ...about, tasks }),
    story: (sample) => ({
      task_id: sample.id,
      title: titleOf(sample),
      definition_of_done: CRITERIA,
      recommended: { approach: 'Small steps.' },
      model: 'gpt-5.1-codex',
      status: sample.done === true ? 'completed' : 'unstarted',
      ...(sample.needs === undefined ? {} : { dependencies: sample.needs }),
    }),
  },
  swanson: {
    document: (userStories) => ({ type: 'feature', name: 'shop', description: about.description, userStories }),
    story: (sample) => ({ ...withCriteria(sample), complexity: 'simple' }),
  },
  ralph: { document: (userStories) => ({ ...about, userStories }), story: withCriteria },
  daedalus: {
    document: (userStories) => ({ ...about, userStories }),
    story: (sample) => ({ ...withCriteria(sample), description: '', priority: 1, passes: sample.done === true }),
  },
  taskmaster: {
    document: (tasks) => ({ master: { tasks, metadata: { projectName: 'shop', description: about.description } } }),
    story: (sample) => ({
      id: sample.id,
      title: titleOf(sample),
      testStrategy: CRITERIA.join('\n'),
      status: sample.done === true ? 'done' : 'pending',
      dependencies: sample.needs ?? [],
      subtasks: [],
    }),
  },
  grouped: {
    document: (stories) => ({ ...about, phases: [{ name: 'First', tasks: stories }] }),
    story: withCriteria,
  },
  array: {
    document: (stories) => stories,
    story: (sample) => ({
      id: sample.id,
      category: 'functional',
      description: titleOf(sample),
      steps: CRITERIA,
      passes: sample.done === true,
      ...(sample.needs === undefined ? {} : { depends_on: sample.needs }),
    }),
  },
  stories: {
    document: (stories) => ({ ...about, stories }),
    story: (sample) => ({
      id: sample.id,
      title: titleOf(sample),
      acceptance_criteria: CRITERIA,
      passes: sample.done === true,
      dependencies: sample.needs ?? [],
    }),
  },
  tasks: {
    document: (tasks) => ({ version: 1, goal: about.description, project: 'shop', tasks }),
    story: (sample) => ({
      id: sample.id,
      title: titleOf(sample),
      acceptance: CRITERIA,
      status: sample.done === true ? 'completed' : 'not-started',
      deps: sample.needs ?? [],
    }),
  },
  beads: {
    document: (issues) => issues,
    story: (sample) => ({
      id: sample.id,
      title: titleOf(sample),
      acceptance_criteria: CRITERIA.join('\n'),
      issue_type: 'task',
      status: sample.done === true ? 'closed' : 'open',
      ...(sample.needs === undefined
        ? {}
        : { dependencies: sample.needs.map((needed) => ({ depends_on_id: needed, type: 'blocks' })) }),
    }),
  },
  features: {
    document: (features) => ({ ...about, features }),
    story: (sample) => ({
      id: sample.id,
      name: titleOf(sample),
      verification: CRITERIA,
      passes: sample.done === true,
      blockedBy: sample.needs ?? [],
    }),
  },
} as const satisfies Partial<Record<DialectId, JsonWriter>>;

export type JsonId = keyof typeof JSON_WRITERS;

function withCriteria(sample: Sample): Json {
  return {
    id: sample.id,
    title: titleOf(sample),
    acceptanceCriteria: CRITERIA,
    ...(sample.done === undefined ? {} : { passes: sample.done }),
    ...(sample.needs === undefined ? {} : { dependsOn: sample.needs }),
  };
}

const MARKDOWN_WRITERS = {
  'markdown-stories': (stories) =>
    page(
      ...stories.flatMap((sample) => [
        `### ${sample.id}: ${titleOf(sample)}`,
        ...(sample.needs === undefined ? [] : [`**Depends on:** ${sample.needs.join(', ')}`]),
        '',
        '**Acceptance Criteria:**',
        ...CRITERIA.map((text) => `- [${sample.done === true ? 'x' : ' '}] ${text}`),
        '',
      ]),
    ),
  hank: (stories) => page(...stories.map((sample) => boxOf(sample, `[${sample.id}] `))),
  'markdown-numbered': (stories) => page(...stories.map((sample) => boxOf(sample, `${sample.id}: `))),
  'markdown-checkbox': (stories) => page(...stories.map((sample) => boxOf(sample, ''))),
} as const satisfies Partial<Record<DialectId, (stories: Sample[]) => string>>;

/** A dialect whose files can have everything that a story has. */
export type FullDialect = JsonId | keyof typeof MARKDOWN_WRITERS;

/** The other dialects have tests of their own. */
export const FULL_DIALECTS = [...Object.keys(JSON_WRITERS), ...Object.keys(MARKDOWN_WRITERS)] as FullDialect[];

function page(...lines: string[]): string {
  return ['# shop', '', 'A small shop.', '', '## Stories', '', ...lines, ''].join('\n');
}

function boxOf(sample: Sample, prefix: string): string {
  const needs = sample.needs === undefined ? [] : [`  - Depends on: ${sample.needs.join(', ')}`];
  const box = `- [${sample.done === true ? 'x' : ' '}] ${prefix}${titleOf(sample)}`;
  return [box, ...CRITERIA.map((text) => `  - ${text}`), ...needs].join('\n');
}

/** The text of a file with some stories, as people write it in a dialect. */
export function writeSamples(dialect: FullDialect, stories: Sample[]): string {
  if (!isJson(dialect)) return MARKDOWN_WRITERS[dialect](stories);
  const { document, story }: JsonWriter = JSON_WRITERS[dialect];
  return `${JSON.stringify(document(stories.map(story)), null, 2)}\n`;
}

function isJson(dialect: FullDialect): dialect is JsonId {
  return Object.hasOwn(JSON_WRITERS, dialect);
}

export function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
