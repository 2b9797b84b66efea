import type { Story } from '../../core/prd/prd.ts';
import { inOrder } from '../../core/run/story-order.ts';
import { toOneLine } from '../../lib/one-line.ts';
import type { DraftStory, JsonDialect } from '../dialect.ts';
import type { Findings } from '../findings.ts';
import { findIdFault, refuseDuplicates } from '../ids.ts';
import { findMember } from '../json/find-member.ts';
import type { JsonValue } from '../json/json-positions.ts';
import { addProblem, missing, nameKind, readExtra, readMembers, requireText, take } from '../json/object-reader.ts';
import { takeText, type MemberReader } from '../json/object-reader.ts';
import { readDependsOn } from '../story/read-depends-on.ts';
import { readStatus } from '../story/read-status.ts';
import { extraOf, writeJson, writeProgress, writeWhole } from '../json/write-json.ts';

const SCHEMA_VERSION = '0.1';
const MOST_STORIES = 10;
const SIZES = ['S', 'M'];

/** `{schemaVersion: "0.1", stories: [{id, title, size, acceptance}]}`: few stories, small ones, in the order of the file. */
export const hanuman: JsonDialect = {
  id: 'hanuman',
  format: 'json',
  title: 'hanuman (schemaVersion "0.1" and stories)',
  doneWord: 'done',
  detects: ({ json }) => json.members.has('schemaVersion') && json.members.has('stories'),
  read({ json }, findings) {
    const reader = readMembers(json, findings);
    const version = take(reader, 'schemaVersion');
    if (version?.value !== SCHEMA_VERSION) {
      addProblem(reader, version ?? missing(json, 'schemaVersion'), `must be "${SCHEMA_VERSION}"`);
    }
    const stories = readStories(reader);
    refuseDuplicates(stories, findings);
    return {
      project: toOneLine(takeText(reader, 'project', 'name') ?? ''),
      description: takeText(reader, 'description') ?? '',
      stories,
      about: Object.entries(readExtra(reader)).map(([label, value]) => ({ label, value })),
    };
  },
  write: ({ stories, ...whole }) =>
    writeJson({ schemaVersion: SCHEMA_VERSION, ...writeWhole(whole), stories: inOrder(stories).map(writeSmallStory) }),
};

function writeSmallStory(story: Story): Record<string, unknown> {
  const { id, title, description, acceptance, dependsOn, notes, extra } = story;
  return {
    id,
    title,
    ...(description === '' ? {} : { description }),
    size: SIZES.includes(extra.size as string) ? extra.size : 'M',
    acceptance,
    ...(dependsOn.length === 0 ? {} : { dependsOn }),
    ...writeProgress(story),
    ...(notes === '' ? {} : { notes }),
    ...extraOf(extra, ['size']),
  };
}

function readStories(reader: MemberReader): DraftStory[] {
  const list = take(reader, 'stories');
  if (list?.kind !== 'array') {
    const kind = list === undefined ? 'null' : nameKind(list);
    addProblem(reader, list ?? missing(reader.at, 'stories'), `must be a list of stories, not ${kind}`);
    return [];
  }
  if (list.items.length > MOST_STORIES) {
    addProblem(reader, list, `has ${list.items.length} stories; at most ${MOST_STORIES} are allowed`);
  }
  return list.items.flatMap((item) => readStory(item, reader.findings));
}

function readStory(at: JsonValue, findings: Findings): DraftStory[] {
  const reader = readMembers(at, findings);
  if (at.kind !== 'object') {
    addProblem(reader, at, `must be an object, not ${nameKind(at)}`);
    return [];
  }
  const id = requireText(reader, 'id').trim();
  const fault = id === '' ? undefined : findIdFault(id);
  if (fault !== undefined) addProblem(reader, findMember(at, 'id') ?? at, fault);
  const title = toOneLine(requireText(reader, 'title'));
  checkSize(reader);
  const story = {
    id,
    ownId: id,
    title,
    description: takeText(reader, 'description') ?? '',
    acceptance: readAcceptance(reader),
    priority: undefined,
    status: readStatus(reader, id),
    notes: takeText(reader, 'notes') ?? '',
    dependsOn: readDependsOn(reader),
    at,
    mark: { kind: 'json', at } as const,
  };
  return [{ ...story, extra: readExtra(reader) }];
}

/** The size is a rule of the dialect, not of halo: it is checked here and stays in `extra`. */
function checkSize(reader: MemberReader): void {
  const size = reader.at.members.get('size');
  if (size === undefined) addProblem(reader, missing(reader.at, 'size'), 'is missing; it must be "S" or "M"');
  else if (!SIZES.includes(size.value as string)) {
    addProblem(reader, size, `must be "S" or "M", not ${JSON.stringify(size.value)}; split larger stories`);
  }
}

function readAcceptance(reader: MemberReader): string[] {
  const list = take(reader, 'acceptance');
  if (list === undefined) {
    addProblem(reader, findMember(reader.at, 'acceptance') ?? missing(reader.at, 'acceptance'), 'is missing');
    return [];
  }
  if (list.kind !== 'array') {
    addProblem(reader, list, `must be a list of strings, not ${nameKind(list)}`);
    return [];
  }
  if (list.items.length === 0) addProblem(reader, list, 'must hold at least one criterion');
  for (const item of list.items) {
    if (item.kind !== 'string') addProblem(reader, item, `must be a string, not ${nameKind(item)}`);
    else if ((item.value as string).trim() === '') addProblem(reader, item, 'is empty');
  }
  return list.items.map(({ value }) => String(value).trim());
}
