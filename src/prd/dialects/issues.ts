import { writesNothing, type DraftStory, type JsonDialect } from '../dialect.ts';
import { idTextOf, type JsonValue } from '../json/json-positions.ts';
import { take, takeText, type MemberReader } from '../json/object-reader.ts';
import { readJsonPrd } from '../json/read-json.ts';

/** `[{number, title, body, state, labels, url}]`: what `gh issue list --json` prints. */
export const issues: JsonDialect = {
  id: 'issues',
  format: 'json',
  title: 'issues (gh issue list --json)',
  doneWord: 'closed',
  detects: ({ found }) =>
    found?.kind === 'top' && found.members.length > 0 && found.members.every(({ at }) => isIssue(at)),
  schema: {
    type: 'array',
    minItems: 1,
    items: {
      type: 'object',
      required: ['number', 'title'],
      properties: {
        number: { type: 'integer' },
        title: { type: 'string' },
        body: { type: ['string', 'null'] },
        state: { enum: ['OPEN', 'CLOSED', 'open', 'closed'] },
      },
    },
  },
  read: ({ found, ...document }, diagnostics) => {
    if (found === undefined) throw new Error('a dialect must not detect a document without a list of stories');
    const members = found.members.map(({ at }) => ({ at, key: numberOf(at) }));
    return readJsonPrd({ ...document, found: { ...found, members } }, diagnostics, refine);
  },
  write: writesNothing('issues'),
};

function isIssue({ members }: JsonValue): boolean {
  const has = (key: string, kind: JsonValue['kind']) => members.get(key)?.kind === kind;
  return has('number', 'number') && has('title', 'string') && ['body', 'state', 'url'].some((key) => members.has(key));
}

function numberOf({ members }: JsonValue): string {
  const number = members.get('number');
  return number === undefined ? '' : `#${idTextOf(number)}`;
}

/** `id` is a name that only the API uses. */
function refine(story: DraftStory, reader: MemberReader): DraftStory {
  const id = numberOf(reader.at);
  take(reader, 'number');
  return { ...story, id, ownId: id, description: takeText(reader, 'body')?.trim() ?? '' };
}
