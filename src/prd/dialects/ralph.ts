import { toOneLine } from '../../lib/one-line.ts';
import type { Dialect, DraftStory } from '../dialect.ts';
import type { Findings } from '../findings.ts';
import { findIdFault, renameDoneDuplicates } from '../ids.ts';
import type { JsonValue } from '../json.ts';
import { addProblem, missing, nameKind, readExtra, readMembers, take, takeText } from '../members.ts';
import type { MemberReader } from '../members.ts';
import { readAcceptance } from '../read-acceptance.ts';
import { readDependsOn } from '../read-depends-on.ts';
import { readPriority } from '../read-priority.ts';
import { readStatus } from '../read-status.ts';

const INNER_LISTS = ['tasks', 'stories', 'user_stories'];

/** `{project, description, userStories: [{id, title, acceptanceCriteria, priority, passes}]}`. */
export const ralph: Dialect = {
  id: 'ralph',
  title: 'ralph (userStories)',
  detects({ json }) {
    const list = json.members.get('userStories');
    return list !== undefined && !list.items.some(holdsStories);
  },
  read({ json }, findings) {
    const reader = readMembers(json, findings);
    if (json.members.has('branchName')) {
      findings.warnings.push({ story: undefined, text: 'branchName is ignored: each run has a branch of its own' });
    }
    return {
      project: toOneLine(takeText(reader, 'project', 'name', 'projectName') ?? ''),
      description: takeText(reader, 'description') ?? '',
      stories: renameDoneDuplicates(readStories(reader), findings),
    };
  },
};

/** Members that are groups of stories make another dialect. */
function holdsStories(member: JsonValue): boolean {
  return INNER_LISTS.some((key) => member.members.get(key)?.items[0]?.kind === 'object');
}

function readStories(reader: MemberReader): DraftStory[] {
  const list = take(reader, 'userStories');
  if (list?.kind === 'array') return list.items.flatMap((item, index) => readStory(item, index + 1, reader.findings));
  const kind = list === undefined ? 'null' : nameKind(list);
  addProblem(reader, list ?? missing(reader.at, 'userStories'), `must be a list of stories, not ${kind}`);
  return [];
}

function readStory(at: JsonValue, position: number, findings: Findings): DraftStory[] {
  const reader = readMembers(at, findings);
  if (at.kind !== 'object') {
    addProblem(reader, at, `must be an object, not ${nameKind(at)}`);
    return [];
  }
  const id = readId(reader, position);
  const title = readTitle(reader, id);
  return [
    {
      id,
      title,
      description: readDescription(reader),
      acceptance: readAcceptance(reader, id),
      priority: readPriority(reader, id),
      status: readStatus(reader, id),
      notes: readNotes(reader),
      dependsOn: readDependsOn(reader),
      extra: readExtra(reader),
      at,
    },
  ];
}

function readId(reader: MemberReader, position: number): string {
  const member = take(reader, 'id', 'ID', 'key', 'taskId', 'storyId');
  const placeholder = `item-${position}`;
  if (member === undefined) {
    reader.findings.warnings.push({ story: placeholder, text: 'no id, so it is called by its position' });
    return placeholder;
  }
  if (member.kind !== 'string' && !Number.isSafeInteger(member.value)) {
    const kind = member.kind === 'number' ? 'a number that is not whole' : nameKind(member);
    addProblem(reader, member, `must be a string, not ${kind}`);
    return placeholder;
  }
  const id = String(member.value).trim();
  const fault = findIdFault(id);
  if (fault === undefined) return id;
  addProblem(reader, member, fault);
  return placeholder;
}

/** A title in any of its spellings, else the first line of the description. */
function readTitle(reader: MemberReader, story: string): string {
  const title = toOneLine(takeText(reader, 'title', 'name', 'task', 'text', 'summary') ?? '');
  if (title !== '') return title;
  const description = ['description', 'desc'].map((key) => reader.at.members.get(key)?.value);
  const text = description.find((value) => typeof value === 'string' && value.trim() !== '');
  const [firstLine = ''] = typeof text === 'string' ? text.trim().split(/\r?\n/) : [];
  if (firstLine === '')
    addProblem(reader, missing(reader.at, 'title'), 'is missing, and there is no description either');
  else reader.findings.warnings.push({ story, text: 'no title, so the first line of the description is taken' });
  return toOneLine(firstLine);
}

function readDescription(reader: MemberReader): string {
  const description = takeText(reader, 'description', 'desc', 'user_visible_behavior');
  const parts = [description, takeText(reader, 'details')].filter((part) => part !== undefined && part !== '');
  return parts.join('\n\n');
}

/** A string, or a list of strings as lines. */
function readNotes(reader: MemberReader): string {
  const member = reader.at.members.get('notes');
  if (member?.kind !== 'array') return takeText(reader, 'notes') ?? '';
  reader.taken.add('notes');
  for (const item of member.items) {
    if (item.kind !== 'string') addProblem(reader, item, `must be a string, not ${nameKind(item)}`);
  }
  return member.items.map(({ value }) => String(value)).join('\n');
}
