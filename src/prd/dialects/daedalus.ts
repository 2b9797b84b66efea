import type { Story } from '../../core/prd/prd.ts';
import { sortStories } from '../../core/run/story-order.ts';
import type { DraftStory, JsonDialect } from '../dialect.ts';
import { propertiesOf } from '../json-schema.ts';
import { MAX_STORIES, type Diagnostics } from '../diagnostics.ts';
import type { JsonValue } from '../json/json-positions.ts';
import {
  addProblem,
  addWarning,
  describeKind,
  missing,
  readMembers,
  type MemberReader,
} from '../json/object-reader.ts';
import { readJsonPrd } from '../json/read-json.ts';
import { writeJson, writeStory, writeWhole } from '../json/write-json.ts';
import { hasUserStories } from './json-dialects.ts';

type Fields = Record<string, JsonValue['kind']>;

const DOCUMENT: Fields = { project: 'string', description: 'string' };
const STORY: Fields = {
  id: 'string',
  title: 'string',
  description: 'string',
  acceptanceCriteria: 'array',
  priority: 'number',
  passes: 'boolean',
};
const OPTIONAL: Fields = { inProgress: 'boolean' };

/** Like ralph, but every field is required. Detected as ralph unless requested explicitly. */
export const daedalus: JsonDialect = {
  id: 'daedalus',
  format: 'json',
  title: 'daedalus (userStories, every field required)',
  doneWord: 'done',
  detects: hasUserStories,
  schema: {
    type: 'object',
    required: ['project', 'description', 'userStories'],
    properties: {
      project: { type: 'string' },
      description: { type: 'string' },
      userStories: {
        type: 'array',
        maxItems: MAX_STORIES,
        items: {
          type: 'object',
          required: Object.keys(STORY),
          properties: {
            id: { type: 'string', pattern: '\\S', maxLength: 200 },
            title: { type: 'string', pattern: '\\S' },
            description: { type: 'string' },
            acceptanceCriteria: { type: 'array', items: { type: 'string' } },
            priority: { type: 'integer' },
            passes: { type: 'boolean' },
            inProgress: { type: 'boolean' },
            ...propertiesOf('dependsOn', 'looseNeeds'),
          },
        },
      },
    },
  },
  read(document, diagnostics) {
    addRequiredDiagnostics(readMembers(document.json, diagnostics), DOCUMENT);
    const draft = readJsonPrd(document, diagnostics, (story, reader) => {
      addRequiredDiagnostics(reader, STORY);
      addFieldDiagnostics(reader, OPTIONAL);
      return story;
    });
    warnOfOrder(draft.stories, diagnostics);
    return draft;
  },
  write: ({ stories, ...whole }) =>
    writeJson({
      ...writeWhole(whole),
      userStories: withWholePriorities(stories).map((story) => writeStory(story)),
    }),
};

function addRequiredDiagnostics(reader: MemberReader, fields: Fields): void {
  for (const key of Object.keys(fields).filter((name) => !reader.at.members.has(name)))
    addProblem(reader, missing(reader.at, key), 'is missing');
  addFieldDiagnostics(reader, fields);
}

function addFieldDiagnostics(reader: MemberReader, fields: Fields): void {
  for (const [key, kind] of Object.entries(fields)) {
    const member = reader.at.members.get(key);
    if (member === undefined) continue;
    if (member.kind !== kind) addProblem(reader, member, `must be ${ARTICLES[kind]}, not ${describeKind(member)}`);
    else if (kind === 'number' && !Number.isInteger(member.value)) addProblem(reader, member, 'must be a whole number');
    // Other dialects accept objects with a text.
    for (const item of member.items.filter((each) => each.kind === 'object'))
      addProblem(reader, item, `must be a string, not ${describeKind(item)}`);
  }
}

/** Warns where the priorities do not determine the order of the stories. */
function warnOfOrder(stories: DraftStory[], diagnostics: Diagnostics): void {
  const pending = stories.filter(({ status }) => status === 'pending');
  const counts = new Map<number | undefined, number>();
  for (const { priority } of pending) counts.set(priority, (counts.get(priority) ?? 0) + 1);
  for (const { id, priority } of pending)
    if (priority !== undefined && (counts.get(priority) ?? 0) > 1)
      addWarning({ diagnostics }, id, `priority ${priority} is not unique; these stories run in file order`);
  const begun = stories.filter(({ status }) => status === 'in_progress');
  if (begun.length > 1)
    for (const { id } of begun) addWarning({ diagnostics }, id, 'more than one story is in progress');
}

/** If a priority is missing or not an integer, renumbers all stories in their execution order. */
function withWholePriorities(stories: Story[]): Story[] {
  if (stories.every(({ priority }) => Number.isInteger(priority))) return stories;
  const order = sortStories(stories);
  return stories.map((story) => ({ ...story, priority: order.indexOf(story) + 1 }));
}

const ARTICLES: Partial<Record<JsonValue['kind'], string>> = {
  string: 'a string',
  array: 'a list of strings',
  number: 'a number',
  boolean: 'true or false',
};
