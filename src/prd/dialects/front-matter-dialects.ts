import { oneLine } from '../../lib/text.ts';
import { writesNothing, type DraftStory, type MarkdownDialect } from '../dialect.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { JsonValue } from '../json/json-positions.ts';
import {
  addProblem,
  addWarning,
  findMember,
  missing,
  readExtra,
  readMembers,
  take,
  takeText,
  type MemberReader,
} from '../json/object-reader.ts';
import { remarkOnBoxes, type MarkdownDocument } from '../markdown/blocks.ts';
import { frontMatterKeys, readFrontMatter } from '../markdown/front-matter.ts';
import { isCriteriaName } from '../markdown/labels.ts';
import { slugOf } from '../markdown/leading-id.ts';
import type { Line } from '../markdown/outline.ts';
import { readSurroundings, textOfLines } from '../markdown/read-surroundings.ts';
import { readDependsOn, readPriority, readTexts, readId } from '../story/read-fields.ts';
import { readStatus } from '../story/read-status.ts';
import { renameDoneDuplicates } from '../story/story-ids.ts';

/** One story a file: id, title or name, status and dependencies in the front matter, as Backlog.md and CCPM write it. */
export const taskFile: MarkdownDialect = {
  id: 'task-file',
  format: 'markdown',
  title: 'task-file (front matter with status and id, title or name: one story)',
  detects(document) {
    const keys = frontMatterKeys(document);
    return keys.has('status') && ['id', 'title', 'name'].some((key) => keys.has(key)) && !keys.has('todos');
  },
  read(document, diagnostics) {
    return { project: '', description: '', stories: readTaskFile(document, diagnostics), about: [] };
  },
  write: writesNothing('task-file'),
};

/** The story of a file; none if its front matter is not valid. `name`: its id, if the front matter has none. */
export function readTaskFile(document: MarkdownDocument, diagnostics: Diagnostics, name?: string): DraftStory[] {
  const front = readFrontMatter(document, diagnostics);
  return front === undefined ? [] : [readTask(document, front, { diagnostics, name })];
}

function readTask(
  document: MarkdownDocument,
  front: JsonValue,
  { diagnostics, name }: { diagnostics: Diagnostics; name: string | undefined },
): DraftStory {
  // Backlog.md encloses sections in comments, which have no text.
  for (const remark of document.ignored) addWarning({ diagnostics }, undefined, remark);
  const reader = readMembers(front, diagnostics);
  const title = oneLine(takeText(reader, 'title', 'name') ?? '');
  if (title === '') addProblem(reader, missing(front, 'title'), 'is missing');
  const { id, ownId } =
    findMember(front, 'id') !== undefined || name !== undefined
      ? readId(reader, 1, name)
      : { id: slugOf(title), ownId: undefined };
  const { criteria, text } = splitBody(document);
  if (criteria.length === 0) addWarning(reader, id, 'no acceptance criteria');
  const boxes = document.lines.filter(({ box }) => box !== undefined);
  // An epic of CCPM lists its tasks.
  if (criteria.length === 0 && boxes.length > 0)
    addWarning(
      reader,
      id,
      remarkOnBoxes(boxes, 'the front matter makes the file one story, so its checkboxes are text'),
    );
  const status = findMember(front, 'status')?.value;
  return {
    id,
    ownId,
    title,
    description: text,
    acceptance: criteria,
    priority: readPriority(reader, id),
    status: readStatus(reader, id),
    ...readTexts(reader),
    // The other tasks are in other files.
    dependsOn: readDependsOn(reader).map((needed) => ({ ...needed, loose: true as const })),
    extra: readExtra(reader),
    at: { where: id, offset: front.offset },
    mark: { kind: 'json', at: front, doneWord: status === 'open' ? 'closed' : 'done' },
  };
}

/** The items below a heading for criteria, and all other text. */
function splitBody({ outline }: MarkdownDocument): { criteria: string[]; text: string } {
  const criteria: string[] = [];
  const other: Line[] = [];
  for (const { heading, lines } of outline) {
    const isCriteria = heading !== undefined && isCriteriaName(heading.text);
    if (isCriteria) criteria.push(...lines.flatMap((line) => (line.kind === 'item' ? [line.text] : [])));
    const left = isCriteria ? lines.filter(({ kind }) => kind !== 'item') : lines;
    if (heading !== undefined && (!isCriteria || left.some(({ kind }) => kind !== 'blank'))) other.push(heading);
    other.push(...left);
  }
  // Backlog.md numbers the criteria.
  return { criteria: criteria.map((each) => oneLine(each.replace(/^#\d+\s+/, ''))), text: textOfLines(other) };
}

/** `todos: [{id, content, status}]` in the front matter: plans of Cursor. */
export const cursorPlan: MarkdownDialect = {
  id: 'cursor-plan',
  format: 'markdown',
  title: 'cursor-plan (todos in the front matter)',
  detects: (document) =>
    frontMatterKeys(document).has('todos') && /^\s*(?:-\s+)?["']?content["']?:\s/m.test(document.frontMatter.text),
  read(document, diagnostics) {
    const front = readFrontMatter(document, diagnostics);
    if (front === undefined) return { project: '', description: '', stories: [], about: [] };
    const reader = readMembers(front, diagnostics);
    const todos = take(reader, 'todos');
    const stories = (todos?.items ?? []).map((at, index) => readTodo(readMembers(at, diagnostics), index + 1));
    const boxes = document.lines.filter(({ box }) => box !== undefined);
    if (boxes.length > 0)
      addWarning(
        reader,
        undefined,
        remarkOnBoxes(boxes, 'the todos of the front matter are the stories; checkboxes are text'),
      );
    const bare = { ...document, frontMatter: { ...document.frontMatter, text: '' } };
    const { project, description, about } = readSurroundings(bare, { sections: [], used: new Set(), diagnostics });
    const overview = takeText(reader, 'overview') ?? '';
    const name = oneLine(takeText(reader, 'name', 'title') ?? '');
    reader.taken.add('isProject');
    const more = Object.entries(readExtra(reader)).map(([label, value]) => ({ label, value }));
    return {
      project: name === '' ? project : name,
      description: [overview, description].filter((text) => text !== '').join('\n\n'),
      stories: renameDoneDuplicates(stories, diagnostics),
      about: [...more, ...about],
    };
  },
  write: writesNothing('cursor-plan'),
};

function readTodo(reader: MemberReader, position: number): DraftStory {
  const { at } = reader;
  const { id, ownId } = readId(reader, position);
  const title = oneLine(takeText(reader, 'content', 'title') ?? '');
  if (title === '') addProblem(reader, missing(at, 'content'), 'is missing');
  return {
    id,
    ownId,
    title,
    description: '',
    acceptance: [],
    priority: readPriority(reader, id),
    status: readStatus(reader, id),
    ...readTexts(reader),
    dependsOn: readDependsOn(reader),
    extra: readExtra(reader),
    at,
    mark: { kind: 'json', at, doneWord: 'completed' },
  };
}
