import { FIELDS, TEXT_FIELD_NAMES, TEXT_FIELDS } from '../core/prd/fields.ts';
import { leafTexts } from '../core/prd/story-details.ts';
import { defined } from '../lib/guards.ts';
import { listSome } from '../lib/text.ts';
import type { DialectId } from './dialect-registry.ts';
import type { ContextEntry, Draft, DraftStory, ReadFile } from './dialect.ts';
import { nameOf } from './json/find-list.ts';
import type { JsonValue } from './json/json-positions.ts';
import { lineFinder, PositionedValue } from './json/json-positions.ts';
import { canonicalKey } from './json/object-reader.ts';
import type { MarkdownDocument } from './markdown/blocks.ts';
import { readLabels } from './markdown/labels.ts';
import type { Line } from './markdown/outline.ts';
import { readPrdFile } from './parse-prd.ts';

/** What a line of a PRD became. */
export interface ExplainedLine {
  /** The name of its file, if the PRD is a folder. */
  file?: string;
  /** Counts from 1. */
  line: number;
  /** The id of the story that has it; absent: it is not of one story. */
  story?: string;
  /** Such as `title`, `criterion`, `context "Goals"` or `not read`. */
  became: string;
  /** It is in no story and no context. */
  unread?: true;
  text: string;
}

/** What each line of a PRD became, without blank lines and lines of brackets. Throws PRD_INVALID. */
export function explainPrd(bytes: Uint8Array, path: string, as?: DialectId): ExplainedLine[] {
  const { files, draft } = readPrdFile(bytes, path, { as });
  return files.flatMap((file) => {
    const lines = file.document.text.split('\n').map((text) => text.trim());
    const stories = file.document.format === 'json' ? file.marks : file.stories;
    const read = { ...file, draft: { ...draft, stories } };
    const found =
      file.document.format === 'json' ? explainTree(read, file.document.json) : explainMarkdown(read, file.document);
    const of = defined({ file: file.name });
    return [...found]
      .sort(([a], [b]) => a - b)
      .map(([line, what]) => ({ ...of, line, ...what, text: lines[line - 1] ?? '' }));
  });
}

/** A file with the draft of its PRD, which has the stories of this file alone. */
type ReadPart = Pick<ReadFile, 'document' | 'warnings'> & { draft: Draft };

type Meaning = Omit<ExplainedLine, 'line' | 'text'>;

const [CRITERIA, CRITERION] = ['criteria', 'criterion'];
const UNREAD: Meaning = { became: 'not read', unread: true };

/** The values that begin on a line say what the line is; one without any belongs to the value before. */
function explainTree({ document, draft }: Pick<ReadPart, 'document' | 'draft'>, root: JsonValue): Map<number, Meaning> {
  const lineOf = lineFinder(document.text);
  const storyAt = new Map<JsonValue, DraftStory>(
    draft.stories.flatMap((story) => {
      const { mark } = story;
      if (mark.kind === 'word') return [[mark.entry ?? mark.at, story] as const];
      return 'at' in mark ? [[mark.at, story] as const] : [];
    }),
  );
  const outer = new Set([...storyAt.keys()].flatMap(ancestorsOf));
  const starts = new Map<number, Meaning[]>();
  const rest = new Map<number, Meaning>();
  const note = (from: number, end: number, meaning: Meaning) => {
    const [first, last] = [lineOf(from), lineOf(Math.max(from, end - 1))];
    const there = starts.get(first);
    if (there === undefined) starts.set(first, [meaning]);
    else if (there.length < MAX_MEANINGS) there.push(meaning);
    for (let line = first + 1; line <= last; line++) rest.set(line, meaning);
  };
  const visit = (value: JsonValue, meaning: Meaning): void => {
    const story = storyAt.get(value);
    const from = value.keyOffset ?? value.offset;
    if (story?.mark.kind === 'word' && story.mark.entry === undefined)
      note(from, value.end, { story: story.id, became: story.markFile ? 'progress' : 'title and progress' });
    else if (story !== undefined) {
      for (const [key, member] of value.members)
        visit(member, { story: story.id, ...meaningOf(meaningOfKey(key, member, story)) });
    } else if (outer.has(value) || isGroup(value, draft)) {
      for (const item of value.items) visit(item, UNREAD);
      for (const [key, member] of value.members) visit(member, meaningOf(outerKey(key, member, draft)));
    } else if (value.kind === 'array' || value.kind === 'object') {
      note(from, from + 1, meaning);
      for (const item of [...value.items, ...value.members.values()]) visit(item, itemOf(meaning));
    } else note(from, value.end, meaning);
  };
  visit(root, UNREAD);
  const found = new Map(rest);
  for (const [line, meanings] of starts) found.set(line, joinMeanings(meanings));
  return found;
}

const MAX_MEANINGS = 50;

/** True for an object beside the stories that is a group of them, such as an epic of beads. */
function isGroup(value: JsonValue, { about }: Draft): boolean {
  const name = value.kind === 'object' ? nameOf(value) : undefined;
  return name !== undefined && about.some(({ label }) => label === name);
}

function meaningOf(became: string | undefined): Meaning {
  return became === undefined ? UNREAD : { became };
}

function ancestorsOf(value: JsonValue): JsonValue[] {
  const around: JsonValue[] = [];
  for (let at = parentOf(value); at !== undefined; at = parentOf(at)) around.push(at);
  return around;
}

function parentOf(value: JsonValue): JsonValue | undefined {
  return value instanceof PositionedValue ? value.parent?.value : undefined;
}

/** One meaning for a line with several values. */
function joinMeanings(meanings: readonly Meaning[]): Meaning {
  const stories = [...new Set(meanings.flatMap(({ story }) => story ?? []))];
  const read = meanings.filter(({ unread }) => unread !== true);
  const names = [...new Set((read.length > 0 ? read : meanings).map(({ became }) => became))];
  if (stories.length > 1) return { became: `stories ${listSome(stories, 5)}` };
  const story = stories[0] === undefined ? {} : { story: stories[0] };
  return { ...story, ...(read.length === 0 ? UNREAD : {}), became: names.join(', ') };
}

function itemOf(meaning: Meaning): Meaning {
  return meaning.became === CRITERIA ? { ...meaning, became: CRITERION } : meaning;
}

/** The names of fields that have other names in the table. */
const NAMES: Record<string, string> = {
  acceptance: CRITERIA,
  dependsOn: 'dependencies',
  looseNeeds: 'dependencies, if they are stories; and a field for the agent',
  details: 'description',
  userStory: 'description',
  flag: 'progress',
  booleanFlag: 'progress',
  status: 'progress',
  started: 'progress',
  skip: 'progress',
  supersededBy: 'progress',
};

/** Undefined: it is not read. */
function meaningOfKey(key: string, member: JsonValue, story: DraftStory): string | undefined {
  const { value } = member;
  if (value === story.title && value !== story.id) return 'title';
  if (value === story.id) return 'id';
  if (story.dependsOn.some(({ id }) => leafTexts(value).includes(id))) return 'dependencies';
  const known = canonicalKey(key);
  const [field] = Object.entries(FIELDS).find(([, { keys }]) => keys.includes(known)) ?? [];
  if (field === 'looseNeeds') return NAMES.looseNeeds ?? '';
  const isUsed =
    field === 'acceptance' && leafTexts(value).some((text) => story.acceptance.some((each) => each.includes(text)));
  if (isUsed || (field !== undefined && !Object.hasOwn(story.extra, key))) return NAMES[field] ?? field;
  return Object.hasOwn(story.extra, key) ? `field "${key}" for the agent` : undefined;
}

/** What a key outside of the stories is; undefined: it is not read. */
function outerKey(key: string, value: JsonValue, { about, project, description }: Draft): string | undefined {
  const text = typeof value.value === 'string' ? value.value.trim() : '';
  if (text !== '' && text === project) return 'name of the project';
  if (text !== '' && description.includes(text)) return 'description of the project';
  if (about.some(({ label, stories }) => label === key && stories === undefined)) return `context "${key}"`;
  const entry = about.find((each) => leafTexts(value.value).some((leaf) => containsText(each, leaf)));
  if (entry !== undefined) return `context "${entry.label}"`;
  const isGroup = about.some(({ label }) => label === text && text !== '');
  return isGroup ? 'name of a group' : undefined;
}

function containsText({ value }: ContextEntry, text: string): boolean {
  return leafTexts(value).some((each) => each.includes(text));
}

/** Compares each line with what was read, so that nothing is claimed that the stories do not have. */
function explainMarkdown(read: ReadPart, document: MarkdownDocument): Map<number, Meaning> {
  const { draft } = read;
  const found = new Map<number, Meaning>();
  const texts = new Map(draft.stories.map((story) => [story, textsOf(story)] as const));
  const inOrder = [...draft.stories].sort((a, b) => a.at.offset - b.at.offset);
  const first = document.lines[0]?.number ?? 1;
  const front = frontOf(read, inOrder);
  const ofFile = fileTexts(draft);
  for (let line = 2; line < first - 1; line++) {
    const meaning =
      front === undefined ? ofFrontMatter(document.text.split('\n')[line - 1] ?? '', draft) : front.get(line);
    if (meaning !== undefined) found.set(line, meaning);
  }
  let next = 0;
  let owner: DraftStory | undefined = front === undefined ? undefined : inOrder.length === 1 ? inOrder[0] : undefined;
  for (const line of document.lines) {
    while (front === undefined && (inOrder[next]?.at.offset ?? Infinity) <= line.end) owner = inOrder[next++];
    if (line.kind === 'blank') {
      const end = document.text.indexOf('\n', line.offset);
      const original = document.text.slice(line.offset, end < 0 ? undefined : end).trim();
      if (/^<!--|-->$/.test(original)) found.set(line.number, unreadAs('a comment'));
      continue;
    }
    const ofOwner = owner === undefined ? undefined : ofStory(line, owner, texts.get(owner));
    // A fence, or an empty line of code.
    const ofBlock = line.kind === 'code' && bare(line.text) === '' ? found.get(line.number - 1) : undefined;
    const meaning = ofOwner ?? ofFile(line) ?? ofBlock ?? ofOthers(line, inOrder, texts);
    found.set(line.number, meaning ?? whyNot(line, read.warnings));
  }
  return found;
}

/** What a line of front matter is that has no stories. */
function ofFrontMatter(line: string, { about, project }: Draft): Meaning {
  if (about.some(({ label }) => label === 'front matter')) return { became: 'context "front matter"' };
  return project !== '' && line.includes(project) ? { became: 'name of the project' } : UNREAD;
}

/** The values of the front matter, if stories are in it. */
function frontOf(read: ReadPart, [first]: DraftStory[]): Map<number, Meaning> | undefined {
  if (first?.mark.kind !== 'json') return undefined;
  return explainTree(read, ancestorsOf(first.mark.at).at(-1) ?? first.mark.at);
}

interface StoryTexts {
  criteria: string[];
  /** Name of a part and its text. */
  parts: [name: string, text: string][];
}

function textsOf(story: DraftStory): StoryTexts {
  const named = TEXT_FIELD_NAMES.map((name): [string, string] => [
    TEXT_FIELDS[name].title.toLowerCase(),
    story[name] ?? '',
  ]);
  const more = Object.entries(story.extra).map(([key, value]): [string, string] => [
    `field "${key}" for the agent`,
    leafTexts(value).join('\n'),
  ]);
  return {
    criteria: story.acceptance.map(bare),
    parts: [['description', story.description] as [string, string], ...named, ...more].map(([name, text]) => [
      name,
      bare(text),
    ]),
  };
}

function ofStory(line: Line, story: DraftStory, texts: StoryTexts | undefined): Meaning | undefined {
  const { id, at, mark, title } = story;
  const isHere = (offset: number) => offset >= line.offset && offset <= line.end;
  if (isHere(at.offset)) return { story: id, became: 'title' };
  if (mark.kind === 'boxes' && mark.word !== undefined && isHere(mark.word.from))
    return { story: id, became: 'progress' };
  const text = bare(line.text);
  if (text === '') return undefined;
  const labels = readLabels(line).map(({ name }) => name.toLowerCase());
  const isLabel = (names: readonly string[]) => labels.some((name) => names.includes(name));
  if (isLabel([...FIELDS.dependsOn.labels, ...FIELDS.looseNeeds.labels])) return { story: id, became: 'dependencies' };
  if (isLabel(FIELDS.priority.labels)) return { story: id, became: 'priority' };
  if (texts?.criteria.some((each) => each.includes(text) || (text.length > 3 && text.endsWith(each) && each !== '')))
    return { story: id, became: CRITERION };
  const values = [text, ...readLabels(line).map(({ value }) => bare(value))].filter((each) => each !== '');
  const names = [...labels, text.toLowerCase()].map((name) => `field "${name}" for the agent`);
  const part = texts?.parts.find(
    ([name, all]) => values.some((each) => all.includes(each)) || names.includes(name.toLowerCase()),
  );
  if (part !== undefined) return { story: id, became: part[0] };
  if (isLabel(FIELDS.acceptance.labels) || FIELDS.acceptance.labels.includes(text.toLowerCase().replace(/:$/, '')))
    return { story: id, became: 'heading of the criteria' };
  return bare(title).includes(text) ? { story: id, became: 'title' } : undefined;
}

/** What a line is to the whole file. */
function fileTexts({ project, description, about, stories }: Draft): (line: Line) => Meaning | undefined {
  const name = bare(project);
  const described = bare(description);
  const context = about.map(({ label, value }) => ({
    label,
    parts: label.split(' › ').map(bare),
    text: leafTexts(value).map(bare).join('\n'),
  }));
  const groups = stories.flatMap(({ extra }) => (typeof extra.group === 'string' ? [bare(extra.group)] : []));
  return (line) => {
    const text = bare(line.text);
    if (text === '') return undefined;
    if (line.kind === 'heading') {
      if (name !== '' && text.includes(name)) return { became: 'name of the project' };
      const label = context.find(({ parts }) => parts.includes(text))?.label;
      if (label !== undefined) return { became: `heading of the context "${label}"` };
      const inside = groups.filter((group) => group.includes(text)).length;
      if (inside > 0) return { became: `group of ${inside} ${inside === 1 ? 'story' : 'stories'}` };
    } else if (described.includes(text)) return { became: 'description of the project' };
    const entry = context.find((each) => each.text.includes(text));
    return entry === undefined ? undefined : { became: `context "${entry.label}"` };
  };
}

function ofOthers(line: Line, stories: DraftStory[], texts: ReadonlyMap<DraftStory, StoryTexts>): Meaning | undefined {
  const other = stories.find((story) => texts.get(story)?.criteria.includes(bare(line.text)) === true);
  return other === undefined ? undefined : { story: other.id, became: CRITERION };
}

/** What the note about the line says. */
function whyNot({ number, kind }: Line, warnings: ReadPart['warnings']): Meaning {
  const note = warnings.find(({ lines }) => lines?.numbers.includes(number));
  if (note !== undefined) return unreadAs(note.text);
  return kind === 'heading' ? { became: 'heading only' } : UNREAD;
}

function unreadAs(why: string): Meaning {
  return { ...UNREAD, became: `not read: ${why}` };
}

/** A text without marks of emphasis, numbers of criteria and repeated spaces. */
function bare(text: string): string {
  return text
    .replace(/[*_`~]/g, '')
    .replace(/^\[[^\]]{1,24}\]\s+/, '')
    .replace(/\s+/g, ' ')
    .trim();
}
