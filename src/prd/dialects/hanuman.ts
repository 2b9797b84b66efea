import { filledTexts, TEXT_FIELD_NAMES } from '../../core/prd/fields.ts';
import type { Story } from '../../core/prd/prd.ts';
import { valueText } from '../../core/prd/story-details.ts';
import { sortStories } from '../../core/run/story-order.ts';
import { oneLine } from '../../lib/text.ts';
import type { DraftStory, JsonDialect } from '../dialect.ts';
import { propertiesOf } from '../json-schema.ts';
import type { Diagnostics } from '../diagnostics.ts';
import { findIdProblem, reportDuplicateIds } from '../story/story-ids.ts';
import {
  addProblem,
  addWarning,
  describeKind,
  findMember,
  missing,
  readExtra,
  readMembers,
  take,
  takeRequiredText,
  takeText,
  type MemberReader,
} from '../json/object-reader.ts';
import type { JsonValue } from '../json/json-positions.ts';
import { readDependsOn, readTexts } from '../story/read-fields.ts';
import { readStatus } from '../story/read-status.ts';
import { extraOf, writeJson, progressFields, writeWhole } from '../json/write-json.ts';

const SCHEMA_VERSION = '0.1';
const MAX_STORIES = 10;
const SIZES = ['S', 'M'];
const TEXT = { type: ['string', 'null'] };

/** `{schemaVersion: "0.1", title, stories: [{id, title, size, acceptance}]}`: at most ten small stories, in file order. */
export const hanuman: JsonDialect = {
  id: 'hanuman',
  format: 'json',
  title: 'hanuman (schemaVersion "0.1" and stories)',
  doneWord: 'done',
  detects: ({ json }) => json.members.has('schemaVersion') && json.members.has('stories'),
  schema: {
    type: 'object',
    required: ['schemaVersion', 'stories'],
    properties: {
      schemaVersion: { const: SCHEMA_VERSION },
      title: TEXT,
      project: TEXT,
      description: TEXT,
      stories: {
        type: 'array',
        maxItems: MAX_STORIES,
        items: {
          type: 'object',
          required: ['id', 'title', 'size', 'acceptance'],
          properties: {
            id: { type: 'string', pattern: '\\S', maxLength: 200 },
            title: { type: 'string', pattern: '\\S' },
            size: { enum: SIZES },
            acceptance: { type: 'array', minItems: 1, items: { type: 'string', pattern: '\\S' } },
            description: TEXT,
            status: TEXT,
            ...propertiesOf('dependsOn', 'looseNeeds', ...TEXT_FIELD_NAMES),
          },
        },
      },
    },
  },
  read({ json }, diagnostics) {
    const reader = readMembers(json, diagnostics);
    const version = take(reader, 'schemaVersion');
    if (version?.value !== SCHEMA_VERSION) {
      addProblem(reader, version ?? missing(json, 'schemaVersion'), `must be "${SCHEMA_VERSION}"`);
    }
    const stories = readStories(reader);
    reportDuplicateIds(stories, diagnostics);
    const project = oneLine(takeText(reader, 'project', 'title', 'name') ?? '');
    if (project === '') addWarning(reader, undefined, 'title is missing; the schema of hanuman requires it');
    return {
      project,
      description: takeText(reader, 'description') ?? '',
      stories,
      about: Object.entries(readExtra(reader)).map(([label, value]) => ({ label, value })),
    };
  },
  write({ stories, ...whole }) {
    const { project, ...about } = writeWhole(whole);
    return writeJson({
      schemaVersion: SCHEMA_VERSION,
      title: project,
      ...Object.fromEntries(Object.entries(about).flatMap(([label, text]) => writeAbout(label, text))),
      stories: sortStories(stories).map(writeSmallStory),
    });
  },
};

/** The schema of hanuman has a list of principles, and an object for the repository; a text for either is refused. */
function writeAbout(label: string, text: string): [string, unknown][] {
  if (label.toLowerCase() === 'principles') return [['principles', toList(text)]];
  if (label !== 'repo') return [[label, text]];
  const members = text.split('\n').map((line) => /^(name|path): (\S.*)$/.exec(line));
  return members.includes(null) ? [] : [['repo', Object.fromEntries(members.map((member) => member?.slice(1) ?? []))]];
}

/** The bullets of a text, or the whole text as one item. */
function toList(text: string): string[] {
  const items = text.split(/\n(?=- )/);
  const isList = items.every((item) => /^- [^]/.test(item) && !/\n(?! {2}|$)/.test(item));
  return isList ? items.map((item) => item.slice(2).replaceAll('\n  ', '\n').trim()) : [text];
}

/** The extra fields of a story, with its constraints as a list. */
function writeExtra(extra: Record<string, unknown>): Record<string, unknown> {
  const fields = Object.entries(extraOf(extra, ['size'])).flatMap(([key, value]): [string, unknown][] => {
    if (key.toLowerCase() !== 'constraints') return [[key, value]];
    const text = valueText(value);
    return text === '' ? [] : [['constraints', toList(text)]];
  });
  return Object.fromEntries(fields);
}

function writeSmallStory(story: Story): Record<string, unknown> {
  const { id, title, description, acceptance, dependsOn, extra } = story;
  return {
    id,
    title,
    ...(description === '' ? {} : { description }),
    size: SIZES.includes(extra.size as string) ? extra.size : 'M',
    acceptance,
    ...(dependsOn.length === 0 ? {} : { dependsOn }),
    ...progressFields(story),
    ...filledTexts(story),
    ...writeExtra(extra),
  };
}

function readStories(reader: MemberReader): DraftStory[] {
  const list = take(reader, 'stories');
  if (list?.kind !== 'array') {
    const kind = list === undefined ? 'null' : describeKind(list);
    addProblem(reader, list ?? missing(reader.at, 'stories'), `must be a list of stories, not ${kind}`);
    return [];
  }
  if (list.items.length > MAX_STORIES) {
    addProblem(reader, list, `has ${list.items.length} stories; the limit is ${MAX_STORIES}`);
  }
  return list.items.flatMap((item) => readStory(item, reader.diagnostics));
}

function readStory(at: JsonValue, diagnostics: Diagnostics): DraftStory[] {
  const reader = readMembers(at, diagnostics);
  if (at.kind !== 'object') {
    addProblem(reader, at, `must be an object, not ${describeKind(at)}`);
    return [];
  }
  const id = takeRequiredText(reader, 'id').trim();
  const fault = id === '' ? undefined : findIdProblem(id);
  if (fault !== undefined) addProblem(reader, findMember(at, 'id') ?? at, fault);
  const title = oneLine(takeRequiredText(reader, 'title'));
  addSizeDiagnostics(reader);
  const story = {
    id,
    ownId: id,
    title,
    description: takeText(reader, 'description') ?? '',
    acceptance: readAcceptance(reader),
    priority: undefined,
    status: readStatus(reader, id),
    ...readTexts(reader),
    dependsOn: readDependsOn(reader),
    at,
    mark: { kind: 'json', at } as const,
  };
  return [{ ...story, extra: readExtra(reader) }];
}

/** Checks the size, which only this dialect requires; it stays in `extra`. */
function addSizeDiagnostics(reader: MemberReader): void {
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
    addProblem(reader, list, `must be a list of strings, not ${describeKind(list)}`);
    return [];
  }
  if (list.items.length === 0) addProblem(reader, list, 'must contain at least one criterion');
  for (const item of list.items) {
    if (item.kind !== 'string') addProblem(reader, item, `must be a string, not ${describeKind(item)}`);
    else if ((item.value as string).trim() === '') addProblem(reader, item, 'is empty');
  }
  return list.items.map(({ value }) => String(value).trim());
}
