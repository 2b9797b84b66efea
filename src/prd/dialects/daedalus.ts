import type { Story } from '../../core/prd.ts';
import { inOrder } from '../../core/story-order.ts';
import type { JsonDialect } from '../dialect.ts';
import type { JsonValue } from '../json.ts';
import { addProblem, missing, nameKind, type MemberReader } from '../members.ts';
import { readJsonPrd } from '../read-json.ts';
import { writeJson, writeStory } from '../write-json.ts';
import { hasUserStories } from './ralph.ts';

const REQUIRED: Record<string, JsonValue['kind']> = {
  id: 'string',
  title: 'string',
  description: 'string',
  acceptanceCriteria: 'array',
  priority: 'number',
  passes: 'boolean',
};

/** Like ralph, with every field required: so it is read as ralph unless it is asked for. */
export const daedalus: JsonDialect = {
  id: 'daedalus',
  format: 'json',
  title: 'daedalus (userStories, every field required)',
  doneWord: 'done',
  detects: hasUserStories,
  read: (document, findings) =>
    readJsonPrd(document, findings, (story, reader) => {
      checkFields(reader);
      return story;
    }),
  write: ({ project, description, stories }) =>
    writeJson({
      project,
      description,
      userStories: withWholePriorities(stories).map((story) => writeStory(story)),
    }),
};

function checkFields(reader: MemberReader): void {
  for (const [key, kind] of Object.entries(REQUIRED)) {
    const member = reader.at.members.get(key);
    if (member === undefined) addProblem(reader, missing(reader.at, key), 'is missing');
    else if (member.kind !== kind) addProblem(reader, member, `must be ${ARTICLES[kind]}, not ${nameKind(member)}`);
    else if (kind === 'number' && !Number.isInteger(member.value)) addProblem(reader, member, 'must be a whole number');
  }
}

/** Where a story has no whole number for a priority, all are numbered in the order in which they run. */
function withWholePriorities(stories: Story[]): Story[] {
  if (stories.every(({ priority }) => Number.isInteger(priority))) return stories;
  const order = inOrder(stories);
  return stories.map((story) => ({ ...story, priority: order.indexOf(story) + 1 }));
}

const ARTICLES: Partial<Record<JsonValue['kind'], string>> = {
  string: 'a string',
  array: 'a list of strings',
  number: 'a number',
  boolean: 'true or false',
};
