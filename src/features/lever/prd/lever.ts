import { filledTexts } from '../../../core/prd/fields.ts';
import type { Story, StoryStatus } from '../../../core/prd/prd.ts';
import type { DraftStory, JsonDialect } from '../../../prd/dialect.ts';
import { STORY } from '../../../prd/json-schema.ts';
import type { StoryMember } from '../../../prd/json/find-list.ts';
import { addWarning, type MemberReader } from '../../../prd/json/object-reader.ts';
import { readJsonPrd } from '../../../prd/json/read-json.ts';
import { extraOf, writeJson, writeWhole } from '../../../prd/json/write-json.ts';
import { defined } from '../../../lib/guards.ts';

const TASKS = { type: 'array', items: { $ref: '#/$defs/task' } };

/** `{tasks: [{task_id, title, definition_of_done, recommended: {approach}, model, status}]}`, or only the list. */
export const lever: JsonDialect = {
  id: 'lever',
  format: 'json',
  title: 'lever (tasks with definition_of_done and recommended)',
  doneWord: 'completed',
  detects: ({ found }) =>
    found !== undefined &&
    !found.wrapped &&
    (found.kind === 'top' || (found.kind === 'key' && found.key === 'tasks')) &&
    found.members.some(isTask),
  schema: {
    anyOf: [TASKS, { type: 'object', required: ['tasks'], properties: { tasks: TASKS } }],
    $defs: {
      task: {
        allOf: [STORY],
        required: ['title', 'definition_of_done', 'recommended', 'model'],
        properties: {
          task_id: { type: ['string', 'number'] },
          title: { type: 'string', pattern: '\\S' },
          definition_of_done: { type: 'array', minItems: 1, items: { type: 'string' } },
          recommended: { type: 'object', required: ['approach'], properties: { approach: { type: 'string' } } },
          model: { type: 'string' },
          status: { type: ['string', 'null'], examples: ['unstarted', 'started', 'blocked', 'completed'] },
        },
      },
    },
  },
  read: (document, diagnostics) => readJsonPrd(document, diagnostics, refineTask),
  write: ({ stories, ...whole }) =>
    writeJson({
      ...Object.fromEntries(Object.entries(writeWhole(whole)).filter(([, text]) => text !== '')),
      tasks: stories.map(writeTask),
    }),
};

function isTask({ at }: StoryMember): boolean {
  return at.members.has('definition_of_done') && (at.members.has('recommended') || at.members.has('model'));
}

/** Adds the approach to the description, and blocks tasks for a human. */
function refineTask(story: DraftStory, reader: MemberReader): DraftStory {
  const recommended = reader.at.members.get('recommended');
  const approach = recommended?.members.get('approach')?.value;
  if (recommended?.members.size === 1) reader.taken.add('recommended');
  const described =
    typeof approach === 'string' && approach.trim() !== ''
      ? [story.description, `${APPROACH}${approach.trim()}`].filter((part) => part !== '').join('\n\n')
      : story.description;
  const forPerson = reader.at.members.get('model')?.value === 'human' && story.status !== 'done';
  if (forPerson) addWarning(reader, story.id, 'the task is for a human, so it is blocked');
  return { ...story, description: described, status: forPerson ? 'blocked' : story.status };
}

const APPROACH = 'Recommended approach: ';

function writeTask(story: Story): Record<string, unknown> {
  const { id, title, acceptance, priority, dependsOn, status, extra } = story;
  const [description = '', approach] = story.description.split(APPROACH);
  return {
    task_id: id,
    title,
    ...(description.trim() === '' ? {} : { description: description.trim() }),
    definition_of_done: acceptance,
    recommended: { approach: approach?.trim() ?? '' },
    model: 'gpt-5.1-codex',
    ...defined({ priority }),
    ...(dependsOn.length === 0 ? {} : { dependencies: dependsOn }),
    status: STATUSES[status],
    ...filledTexts(story),
    ...extraOf(extra, approach === undefined ? [] : ['recommended']),
  };
}

const STATUSES: Record<StoryStatus, string> = {
  pending: 'unstarted',
  in_progress: 'started',
  done: 'completed',
  blocked: 'blocked',
  skipped: 'deferred',
};
