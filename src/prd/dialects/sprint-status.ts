import { capitalize, listSome } from '../../lib/text.ts';
import { writesNothing, type Draft, type DraftStory, type JsonDialect } from '../dialect.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { JsonValue } from '../json/json-positions.ts';
import { addProblem, addWarning, readExtra, readMembers, takeText } from '../json/object-reader.ts';
import { readStatusWord } from '../story/read-status.ts';

const MAP = 'development_status';

/** `development_status: {1-1-add-the-cart: done}`: the states of the stories of BMAD, without their texts. */
export const sprintStatus: JsonDialect = {
  id: 'sprint-status',
  format: 'json',
  title: 'sprint-status (development_status of BMAD)',
  doneWord: 'done',
  detects: ({ json }) => json.members.get(MAP)?.kind === 'object',
  schema: {
    type: 'object',
    required: [MAP],
    properties: { [MAP]: { type: 'object', additionalProperties: { type: 'string' } } },
  },
  read({ json }, diagnostics) {
    const reader = readMembers(json, diagnostics);
    const entries = [...(json.members.get(MAP)?.members ?? [])];
    const stories = entries.flatMap(([key, at]) => readEntry(key, at, diagnostics));
    const others = entries.flatMap(([key]) => (STORY_KEY.test(key) || EPIC_KEY.test(key) ? [] : [key]));
    if (others.length > 0)
      addWarning(reader, undefined, `keys of other things than stories are left out: ${listSome(others, 5)}`);
    reader.taken.add(MAP);
    const project = takeText(reader, 'project') ?? '';
    const about = Object.entries(readExtra(reader)).map(([label, value]) => ({ label, value }));
    return { project, description: '', stories, about } satisfies Draft;
  },
  write: writesNothing('sprint-status'),
};

/** The number of the epic, that of the story, and the words of its title. */
const STORY_KEY = /^(\d+)-(\d+[a-z]?)-(.+)$/;
const EPIC_KEY = /^epic-(\d+)$/;

function readEntry(key: string, at: JsonValue, diagnostics: Diagnostics): DraftStory[] {
  const [, epic = '', , words = ''] = STORY_KEY.exec(key) ?? [];
  if (epic === '') return [];
  const reader = readMembers(at, diagnostics);
  const word = at.kind === 'string' ? String(at.value) : '';
  if (at.kind !== 'string') addProblem(reader, at, 'must be a word, such as ready-for-dev or done');
  return [
    {
      id: key,
      ownId: key,
      title: capitalize(words.replaceAll('-', ' ')),
      description: `The story file of BMAD for ${key}, such as ${key}.md in the folder of its stories, says what to do.`,
      acceptance: [],
      priority: undefined,
      status: readStatusWord(word, key, diagnostics) ?? 'pending',
      notes: '',
      dependsOn: [],
      extra: { group: `Epic ${epic}` },
      at: { where: key, offset: at.keyOffset ?? at.offset },
      mark: { kind: 'word', at },
    },
  ];
}
