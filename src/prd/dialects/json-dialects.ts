import { filledTexts } from '../../core/prd/fields.ts';
import type { Story, StoryStatus } from '../../core/prd/prd.ts';
import { defined } from '../../lib/guards.ts';
import type { JsonDialect, JsonDocument } from '../dialect.ts';
import { LIST, LIST_OR_FILLED_MAP, LIST_OR_MAP, objectWith, STORY } from '../json-schema.ts';
import type { StoryMember } from '../json/find-list.ts';
import { GROUP_KEYS, LIST_KEYS, WRAPPER_KEYS } from '../json/field-aliases.ts';
import { readJsonPrd } from '../json/read-json.ts';
import { extraOf, progressFields, writeJson, writeStory, writeWhole } from '../json/write-json.ts';

/** `{project, description, userStories: [{id, title, acceptanceCriteria, priority, passes}]}`. */
export const ralph: JsonDialect = {
  id: 'ralph',
  format: 'json',
  title: 'ralph (userStories)',
  doneWord: 'done',
  detects: hasUserStories,
  schema: { type: 'object', required: ['userStories'], properties: { userStories: LIST_OR_MAP } },
  read: readJsonPrd,
  write: ({ stories, ...whole }) =>
    writeJson({ ...writeWhole(whole), userStories: stories.map((story) => writeStory(story)) }),
};

/** True if the stories are directly under `userStories`. */
export function hasUserStories({ found }: JsonDocument): boolean {
  return found?.kind === 'key' && found.key === 'userStories' && !found.wrapped;
}

/** `{stories: [{id, title, acceptance_criteria, dependencies, passes}]}`, or `stories` as a map by id. */
export const stories: JsonDialect = {
  id: 'stories',
  format: 'json',
  title: 'stories (stories or user_stories)',
  doneWord: 'done',
  detects: ({ found }) => found?.kind === 'key' && !found.wrapped && ['stories', 'user_stories'].includes(found.key),
  schema: { type: 'object', ...objectWith(['stories', 'user_stories'], LIST_OR_MAP) },
  read: readJsonPrd,
  write: ({ stories, ...whole }) =>
    writeJson({ ...writeWhole(whole), stories: stories.map((story) => writeStory(story)) }),
};

/** `{tasks: [{id, title, status}]}` and its variants. */
export const tasks: JsonDialect = {
  id: 'tasks',
  format: 'json',
  title: 'tasks (tasks)',
  doneWord: 'done',
  detects: ({ found }) => found?.kind === 'key' && found.key === 'tasks' && !found.wrapped,
  schema: { type: 'object', required: ['tasks'], properties: { tasks: LIST_OR_MAP } },
  read: readJsonPrd,
  write: ({ stories, ...whole }) => writeJson({ ...writeWhole(whole), tasks: stories.map(writeTask) }),
};

/** Writes progress as one word. */
function writeTask(story: Story): Record<string, unknown> {
  return writeStory(story, { status: TASKS_STATUSES[story.status] });
}

const TASKS_STATUSES: Record<StoryStatus, string> = {
  pending: 'pending',
  in_progress: 'in_progress',
  done: 'done',
  blocked: 'blocked',
  skipped: 'deferred',
};

const KEYS = ['features', 'items', 'steps', 'issues', 'backlog', 'todos'];

/** `{features: [{id, title, steps, passes}]}`, or the same under `items`, `steps` or similar keys. */
export const features: JsonDialect = {
  id: 'features',
  format: 'json',
  title: `features (${KEYS.join(', ')})`,
  doneWord: 'done',
  detects: ({ found }) => found?.kind === 'key' && !found.wrapped && KEYS.includes(found.key),
  schema: { type: 'object', ...objectWith(KEYS, LIST_OR_FILLED_MAP) },
  read: readJsonPrd,
  write: ({ stories, ...whole }) =>
    writeJson({ ...writeWhole(whole), features: stories.map((story) => writeStory(story)) }),
};

/** `[{category, description, steps, passes}]`: no project, often without ids and titles. */
export const array: JsonDialect = {
  id: 'array',
  format: 'json',
  title: 'array (a list of stories at the top level)',
  doneWord: 'done',
  detects: ({ found }) => found?.kind === 'top',
  schema: {
    anyOf: [
      LIST,
      { type: 'object', minProperties: 1, patternProperties: { '^\\d+$': STORY }, additionalProperties: false },
    ],
  },
  read: readJsonPrd,
  write: ({ stories }) =>
    writeJson(
      stories.map((story) => {
        const { id, title, description, acceptance, priority, dependsOn, extra } = story;
        return {
          id,
          title,
          description,
          steps: acceptance,
          ...defined({ priority }),
          ...(dependsOn.length === 0 ? {} : { dependencies: dependsOn }),
          ...progressFields(story),
          ...filledTexts(story),
          // It would be read as a list of beads.
          ...extraOf(extra, ['issue_type']),
        };
      }),
    ),
};

/** Stories in groups (`phases[].tasks[]`, `userStories[].tasks[]`) or a list in a wrapper object. */
export const grouped: JsonDialect = {
  id: 'grouped',
  format: 'json',
  title: 'grouped (phases, epics or stories that hold lists of stories; or a list below prd, data or plan)',
  doneWord: 'done',
  detects: ({ found }) => found !== undefined && (found.kind === 'group' || found.wrapped),
  schema: {
    type: 'object',
    anyOf: [
      objectWith(GROUP_KEYS, {
        anyOf: [
          { type: 'array', items: { $ref: '#/$defs/group' } },
          { type: 'object', additionalProperties: { $ref: '#/$defs/group' } },
        ],
      }),
      objectWith(LIST_KEYS, { type: 'array', items: { $ref: '#/$defs/group' } }),
      objectWith(WRAPPER_KEYS, { type: 'object', minProperties: 1 }),
    ],
    $defs: {
      group: {
        type: 'object',
        properties: Object.fromEntries(
          LIST_KEYS.filter((key) => key !== 'steps').map((key) => [key, LIST_OR_FILLED_MAP]),
        ),
      },
    },
  },
  read: readJsonPrd,
  write: ({ stories, ...whole }) => {
    const phases = groupInOrder(stories).map(({ name, members }) => ({ name, tasks: members.map(writeMember) }));
    return writeJson({ ...writeWhole(whole), phases });
  },
};

/** Groups consecutive stories of the same group; keeps the order of the stories. */
function groupInOrder(stories: Story[]): { name: string; members: Story[] }[] {
  const groups: { name: string; members: Story[] }[] = [];
  for (const story of stories) {
    const name = typeof story.extra.group === 'string' ? story.extra.group : 'Stories';
    const last = groups.at(-1);
    if (last?.name === name) last.members.push(story);
    else groups.push({ name, members: [story] });
  }
  return groups;
}

function writeMember(story: Story): Record<string, unknown> {
  const { group, ...rest } = writeStory(story);
  return typeof group === 'string' ? rest : { ...rest, ...defined({ group }) };
}

/** `{type, name, description, userStories: [{…, complexity}]}`. */
export const swanson: JsonDialect = {
  id: 'swanson',
  format: 'json',
  title: 'swanson (type, name and userStories)',
  doneWord: 'done',
  detects: (document) =>
    hasUserStories(document) && ['type', 'name'].every((key) => document.json.members.get(key)?.kind === 'string'),
  schema: {
    type: 'object',
    required: ['type', 'name', 'userStories'],
    properties: { type: { type: 'string' }, name: { type: 'string' }, userStories: LIST_OR_MAP },
  },
  read: readJsonPrd,
  write: ({ project, description, stories }) =>
    writeJson({
      type: 'feature',
      name: project,
      description,
      userStories: stories.map((story) => {
        const { passes, ...rest } = writeStory(story);
        return { complexity: 'simple', ...rest, passes };
      }),
    }),
};

/** `{master: {tasks: [{id, title, description, details, testStrategy, dependencies, status, subtasks}]}}`, or only `tasks`. */
export const taskmaster: JsonDialect = {
  id: 'taskmaster',
  format: 'json',
  title: 'taskmaster (tags with tasks, or tasks with testStrategy or subtasks)',
  doneWord: 'done',
  detects: ({ found }) =>
    found !== undefined &&
    !found.wrapped &&
    (found.kind === 'tag' || (found.kind === 'key' && found.key === 'tasks' && found.members.some(isTask))),
  schema: {
    anyOf: [
      { type: 'object', required: ['tasks'], properties: { tasks: LIST } },
      {
        type: 'object',
        minProperties: 1,
        properties: { master: { $ref: '#/$defs/tag' } },
        anyOf: [{ required: ['master'] }, { additionalProperties: { $ref: '#/$defs/tag' } }],
      },
    ],
    $defs: { tag: { type: 'object', required: ['tasks'], properties: { tasks: LIST } } },
  },
  read: readJsonPrd,
  write: ({ project, description, stories }) => {
    const tasks = stories.map((story) => ({
      id: asNumber(story.id),
      title: story.title,
      description: story.description,
      testStrategy: story.acceptance.join('\n'),
      priority: PRIORITIES[Math.min(story.priority ?? 9, PRIORITIES.length - 1)] ?? 'low',
      dependencies: story.dependsOn.map(asNumber),
      status: TASKMASTER_STATUSES[story.status],
      subtasks: [],
      ...filledTexts(story),
      ...extraOf(story.extra, ['details', 'subtasks']),
    }));
    return writeJson({ master: { tasks, metadata: { projectName: project, description } } });
  },
};

/** True if an item has keys that only this dialect uses. */
function isTask({ at }: StoryMember): boolean {
  return at.members.has('testStrategy') || at.members.get('subtasks')?.items[0]?.kind === 'object';
}

const PRIORITIES = ['critical', 'high', 'medium', 'low'];

const TASKMASTER_STATUSES: Record<StoryStatus, string> = {
  pending: 'pending',
  in_progress: 'in-progress',
  done: 'done',
  blocked: 'blocked',
  skipped: 'deferred',
};

function asNumber(id: string): string | number {
  return /^[1-9]\d{0,8}$/.test(id) ? Number(id) : id;
}
