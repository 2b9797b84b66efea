import type { StoryStatus } from '../../core/prd/prd.ts';
import { oneLine } from '../../lib/text.ts';
import { exceedsStoryLimit, type Diagnostics } from '../diagnostics.ts';
import { writesNothing, type Draft, type DraftStory, type JsonDialect, type ProgressMark } from '../dialect.ts';
import type { JsonValue } from '../json/json-positions.ts';
import { addWarning, readExtra, readMembers, takeText } from '../json/object-reader.ts';
import { readStatusWord } from '../story/read-status.ts';
import { renameDoneDuplicates } from '../story/story-ids.ts';

/** The answer of Linear's GraphQL API to a query of issues, or the list of its nodes. */
export const linear: JsonDialect = {
  id: 'linear',
  format: 'json',
  title: "linear (issues of Linear's API)",
  doneWord: 'completed',
  detects: ({ json }) => findIssues(json) !== undefined,
  schema: {
    description: 'The answer of the API, or the list under `nodes`.',
    type: ['object', 'array'],
    properties: { data: { type: 'object' } },
    items: {
      type: 'object',
      required: ['identifier', 'title', 'state'],
      properties: {
        identifier: { type: 'string' },
        title: { type: 'string' },
        state: { type: 'object', properties: { name: { type: 'string' }, type: { type: 'string' } } },
      },
    },
  },
  read({ json }, diagnostics) {
    const found = findIssues(json) ?? { nodes: [], around: undefined };
    const reader = readMembers(json, diagnostics);
    if (found.around?.members.get('pageInfo')?.members.get('hasNextPage')?.value === true)
      addWarning(
        reader,
        undefined,
        'Linear has more issues: the file has only one page of them (pageInfo.hasNextPage)',
      );
    exceedsStoryLimit(found.nodes.length, diagnostics);
    const stories = found.nodes.map((at) => readIssue(at, diagnostics));
    const projects = new Set(found.nodes.map((at) => textAt(at, 'project', 'name') ?? ''));
    const [project = ''] = projects.size === 1 ? projects : [];
    const needed = linkBlocked(stories, found.nodes);
    return { project, description: '', stories: renameDoneDuplicates(needed, diagnostics), about: [] } satisfies Draft;
  },
  write: writesNothing('linear'),
};

/** Objects around the list, such as `data.team.issues`. */
const MAX_DEPTH = 5;
const IDENTIFIER = /^[A-Za-z][A-Za-z0-9_]{0,20}-\d{1,9}$/;

interface FoundIssues {
  nodes: readonly JsonValue[];
  /** The object with `nodes`. */
  around: JsonValue | undefined;
}

function findIssues(json: JsonValue, around?: JsonValue, depth = 0): FoundIssues | undefined {
  if (json.kind === 'array')
    return json.items.length > 0 && json.items.every(isIssue) ? { nodes: json.items, around } : undefined;
  if (json.kind !== 'object' || depth > MAX_DEPTH || json.members.size > 100) return undefined;
  for (const member of json.members.values()) {
    const found = findIssues(member, json, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isIssue({ members }: JsonValue): boolean {
  const identifier = members.get('identifier');
  return (
    identifier?.kind === 'string' &&
    IDENTIFIER.test(String(identifier.value)) &&
    members.get('title')?.kind === 'string' &&
    members.get('state')?.kind === 'object'
  );
}

/** What only the API uses, or another field says. */
const UNUSED = ['id', 'number', 'identifier', 'priority', 'priorityLabel', 'state', 'relations', 'inverseRelations'];
const DATES = ['createdAt', 'updatedAt', 'startedAt', 'completedAt', 'canceledAt', 'archivedAt', 'sortOrder'];

function readIssue(at: JsonValue, diagnostics: Diagnostics): DraftStory {
  const reader = readMembers(at, diagnostics);
  const id = textAt(at, 'identifier') ?? '';
  const title = oneLine(takeText(reader, 'title') ?? '');
  const description = takeText(reader, 'description')?.trim() ?? '';
  const labels = namesOf(at.members.get('labels'));
  for (const key of [...UNUSED, ...DATES, 'labels']) reader.taken.add(key);
  return {
    id,
    ownId: id,
    title: title === '' ? id : title,
    description,
    acceptance: [],
    priority: priorityOf(at),
    status: statusOf(at, id, diagnostics),
    notes: '',
    dependsOn: [],
    extra: { ...readExtra(reader), ...(labels.length > 0 && { labels }) },
    at: { where: id, offset: at.offset },
    mark: markOf(at),
  };
}

/** 1 is urgent, 4 is low, 0 is none. */
function priorityOf(at: JsonValue): number | undefined {
  const value = Number(at.members.get('priority')?.value);
  return Number.isInteger(value) && value >= 1 && value <= 4 ? value - 1 : undefined;
}

const TYPES: Record<string, StoryStatus> = {
  triage: 'pending',
  backlog: 'pending',
  unstarted: 'pending',
  started: 'in_progress',
  completed: 'done',
  canceled: 'skipped',
  duplicate: 'skipped',
};

/** Teams name their states as they want; the type is one of a few. */
function statusOf(at: JsonValue, id: string, diagnostics: Diagnostics): StoryStatus {
  const type = textAt(at, 'state', 'type');
  if (type !== undefined && Object.hasOwn(TYPES, type)) return TYPES[type] ?? 'pending';
  const name = textAt(at, 'state', 'name');
  return (name === undefined ? undefined : readStatusWord(name, id, diagnostics)) ?? 'pending';
}

function markOf(at: JsonValue): ProgressMark {
  const state = at.members.get('state');
  const [type, name] = [state?.members.get('type'), state?.members.get('name')];
  if (type?.kind === 'string') return { kind: 'word', at: type, entry: at, doneWord: 'completed' };
  if (name?.kind === 'string') return { kind: 'word', at: name, entry: at };
  return { kind: 'none', why: 'its state has neither a type nor a name' };
}

/** `blocks` of one issue is a dependency of the other one. Issues that are not in the file are text for the agent. */
function linkBlocked(stories: DraftStory[], nodes: readonly JsonValue[]): DraftStory[] {
  const needs = new Map(stories.map(({ id }) => [id, new Set<string>()]));
  for (const at of nodes) {
    const own = textAt(at, 'identifier') ?? '';
    for (const other of blocking(at, 'inverseRelations', 'issue')) needs.get(own)?.add(other);
    for (const other of blocking(at, 'relations', 'relatedIssue')) needs.get(other)?.add(own);
  }
  return stories.map((story) => ({
    ...story,
    dependsOn: [...(needs.get(story.id) ?? [])].map((id) => ({ id, at: story.at, loose: true as const })),
  }));
}

function blocking(at: JsonValue, key: string, of: string): string[] {
  const relations = at.members.get(key)?.members.get('nodes')?.items ?? [];
  return relations.flatMap((relation) =>
    textAt(relation, 'type') === 'blocks' ? (textAt(relation, of, 'identifier') ?? []) : [],
  );
}

function namesOf(list: JsonValue | undefined): string[] {
  const items = list?.kind === 'array' ? list.items : (list?.members.get('nodes')?.items ?? []);
  return items.flatMap((item) => textAt(item, 'name') ?? []);
}

function textAt(at: JsonValue, ...path: string[]): string | undefined {
  const found = path.reduce<JsonValue | undefined>((value, key) => value?.members.get(key), at);
  return found?.kind === 'string' ? String(found.value) : undefined;
}
