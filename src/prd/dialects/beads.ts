import { filledTexts } from '../../core/prd/fields.ts';
import type { Story, StoryStatus } from '../../core/prd/prd.ts';
import { defined } from '../../lib/guards.ts';
import { listSome } from '../../lib/text.ts';
import type { Draft, DraftStory, JsonDialect, JsonDocument } from '../dialect.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { StoryMember } from '../json/find-list.ts';
import { idTextOf, type JsonValue } from '../json/json-positions.ts';
import { addWarning, findMember, type MemberReader } from '../json/object-reader.ts';
import { readJsonPrd } from '../json/read-json.ts';
import { extraOf } from '../json/write-json.ts';
import { STORY } from '../json-schema.ts';

/** `{"id", "title", "status", "issue_type", "dependencies": [{"depends_on_id", "type"}]}` on each line, or in a list. */
export const beads: JsonDialect = {
  id: 'beads',
  format: 'json',
  title: 'beads (issues of beads, one a line or in a list)',
  doneWord: 'closed',
  detects: ({ found }) => found?.kind === 'top' && found.members.some(({ at }) => isIssue(at)),
  schema: {
    type: 'array',
    items: {
      allOf: [STORY],
      required: ['id', 'title'],
      properties: {
        issue_type: { type: 'string', examples: ['task', 'bug', 'feature', 'chore', 'epic'] },
        dependencies: {
          type: ['array', 'null'],
          items: { type: 'object', properties: { depends_on_id: { type: 'string' }, type: { type: 'string' } } },
        },
      },
    },
  },
  read: readIssues,
  write: ({ stories }) => stories.map((story) => `${JSON.stringify(writeIssue(story))}\n`).join(''),
};

function isIssue(at: JsonValue): boolean {
  if (at.members.get('id')?.kind !== 'string') return false;
  const needs = at.members.get('dependencies')?.items ?? [];
  return at.members.get('issue_type')?.kind === 'string' || needs.some(({ members }) => members.has('depends_on_id'));
}

/** Kinds of entries without work for an agent: messages between agents, and what coordinates them. */
const NO_WORK = /^(?:message|merge-request|molecule|gate|agent|role|rig|convoy|event|slot|wisp)$/;

function readIssues(document: JsonDocument, diagnostics: Diagnostics): Draft {
  const { found } = document;
  if (found === undefined) throw new Error('a dialect must not detect a document without a list of stories');
  const left = found.members.filter(({ at }) => isLeftOut(at));
  if (left.length > 0) {
    const names = listSome(
      left.map(({ at }) => idOf(at) || at.where),
      5,
    );
    addWarning({ diagnostics }, undefined, `deleted entries and entries without work are left out: ${names}`);
  }
  const issues = found.members.filter((member) => !left.includes(member));
  const epics = new Map(issues.flatMap(({ at }) => (isEpic(at) ? [[idOf(at), at] as const] : [])));
  const groupsOf = new Map(issues.map(({ at }) => [at, ancestorsOf(at, epics)] as const));
  const members = issues.flatMap(({ at }): StoryMember[] => {
    if (isEpic(at)) return [];
    const groups = groupsOf.get(at) ?? [];
    return [{ at, ...(groups.length === 0 ? {} : { groups, ...defined({ group: titleOf(groups.at(-1)) }) }) }];
  });
  const used = new Set([...groupsOf].flatMap(([at, groups]) => (isEpic(at) ? [] : groups)));
  const empty = [...epics.values()].filter((epic) => !used.has(epic));
  const kind = epics.size === 0 ? found.kind : 'group';
  const draft = readJsonPrd({ ...document, found: { ...found, kind, members, empty } }, diagnostics, refine);
  const children = childrenOf(draft.stories, groupsOf);
  const deleted = new Set(left.map(({ at }) => idOf(at)));
  const stories = draft.stories.map((story) => ({
    ...story,
    dependsOn: story.dependsOn.flatMap((needed) => {
      const inside = children.get(needed.id)?.filter((id) => id !== story.id);
      if (inside !== undefined) return inside.map((id) => ({ ...needed, id }));
      // An epic without issues, or an entry that is left out: nothing waits for it.
      if (epics.has(needed.id) || deleted.has(needed.id)) return [];
      return [{ ...needed, loose: true as const }];
    }),
  }));
  return { ...draft, stories };
}

function isLeftOut(at: JsonValue): boolean {
  const word = (key: string) => {
    const value = at.members.get(key)?.value;
    return typeof value === 'string' ? value : '';
  };
  const isEntry = !['', 'issue'].includes(word('_type'));
  return isEntry || word('status') === 'tombstone' || NO_WORK.test(word('issue_type'));
}

function isEpic(at: JsonValue): boolean {
  return at.members.get('issue_type')?.value === 'epic';
}

function idOf(at: JsonValue): string {
  const id = at.members.get('id');
  return id === undefined ? '' : idTextOf(id);
}

function titleOf(at: JsonValue | undefined): string | undefined {
  const title = at?.members.get('title')?.value;
  return typeof title === 'string' ? title : undefined;
}

/** The epics around an issue, outermost first: by its dependencies, its parent, or its id (`bd-1.2` is in `bd-1`). */
function ancestorsOf(at: JsonValue, epics: ReadonlyMap<string, JsonValue>): JsonValue[] {
  const around: JsonValue[] = [];
  for (let of = parentOf(at, epics); of !== undefined && !around.includes(of) && of !== at; of = parentOf(of, epics))
    around.unshift(of);
  return around;
}

function parentOf(at: JsonValue, epics: ReadonlyMap<string, JsonValue>): JsonValue | undefined {
  const links = at.members.get('dependencies')?.items ?? [];
  const named = links.flatMap(({ members }) =>
    members.get('type')?.value === 'parent-child' ? [members.get('depends_on_id')?.value] : [],
  );
  const ids = [...named, findMember(at, 'parent')?.value, idOf(at).replace(/\.\d+$/, '')];
  const id = ids.find((each) => typeof each === 'string' && each !== idOf(at) && epics.has(each));
  return typeof id === 'string' ? epics.get(id) : undefined;
}

/** The ids of the stories in each epic. */
function childrenOf(
  stories: readonly DraftStory[],
  groupsOf: ReadonlyMap<JsonValue, JsonValue[]>,
): ReadonlyMap<string, string[]> {
  const children = new Map<string, string[]>();
  for (const { id, mark } of stories) {
    const groups = mark.kind === 'json' ? (groupsOf.get(mark.at) ?? []) : [];
    for (const epic of groups) {
      const ids = children.get(idOf(epic));
      if (ids === undefined) children.set(idOf(epic), [id]);
      else ids.push(id);
    }
  }
  return children;
}

/** Links of kinds that order nothing stay in the text for the agent. */
function refine(story: DraftStory, reader: MemberReader): DraftStory {
  const links = reader.at.members.get('dependencies')?.items ?? [];
  const kinds = links.map(({ members }) => members.get('type')?.value ?? 'blocks');
  if (kinds.every((kind) => kind === 'blocks' || kind === 'parent-child')) reader.taken.add('dependencies');
  if (reader.at.members.get('status')?.value !== 'pinned') return story;
  addWarning(reader, story.id, 'the issue is pinned, so it is skipped');
  return { ...story, status: 'skipped' };
}

const STATUSES: Record<StoryStatus, string> = {
  pending: 'open',
  in_progress: 'in_progress',
  done: 'closed',
  blocked: 'blocked',
  skipped: 'deferred',
};

function writeIssue(story: Story): Record<string, unknown> {
  const { id, title, description, acceptance, priority, dependsOn, status, extra } = story;
  return {
    id,
    title,
    ...(description === '' ? {} : { description }),
    ...(acceptance.length === 0 ? {} : { acceptance_criteria: acceptance.map((text) => `- ${text}`).join('\n') }),
    status: STATUSES[status],
    ...defined({ priority }),
    issue_type: 'task',
    ...(dependsOn.length === 0
      ? {}
      : { dependencies: dependsOn.map((needed) => ({ issue_id: id, depends_on_id: needed, type: 'blocks' })) }),
    ...filledTexts(story),
    ...extraOf(extra, ['issue_type', 'dependencies']),
  };
}
