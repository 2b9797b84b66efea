import { HaloError } from '../../core/failure/errors.ts';
import { listSome, oneLine } from '../../lib/text.ts';
import { exceedsStoryLimit, type Diagnostics } from '../diagnostics.ts';
import type { ContextEntry, DraftStory, FilesDraft, ReadFile } from '../dialect.ts';
import { readTaskFile, taskFile } from '../dialects/front-matter-dialects.ts';
import { findMember, readMembers, takeText } from '../json/object-reader.ts';
import { readBlocks, type MarkdownDocument } from '../markdown/blocks.ts';
import { readFrontMatter } from '../markdown/front-matter.ts';
import { textOfLines } from '../markdown/read-surroundings.ts';
import { assertLineCount, assertReadable } from '../open-document.ts';
import { renameDoneDuplicates } from '../story/story-ids.ts';
import { addWarnings, inFile, noteLeft, type FolderOptions } from './folder-reading.ts';
import type { FolderFile, PrdFolder } from './folder-text.ts';

/** The description of an epic of CCPM, beside its tasks. */
const EPIC = 'epic.md';

const MAX_NAMED = 5;

/**
 * Reads a folder in which each task is a file (dialect task-file): the stories are the tasks in the order of the names of
 * their files. Other files are not read, with a note. Pure. Throws PRD_INVALID.
 */
export function readTaskFolder(folder: PrdFolder, { path, as, diagnostics }: FolderOptions): FilesDraft {
  if (as !== undefined && as !== taskFile.id)
    throw new HaloError('PRD_INVALID', `${path}: A folder is read as ${taskFile.id}, not as ${as}.`, {
      hint: 'Name a file of the folder, or remove `--as`.',
    });
  const files: ReadFile[] = [];
  const left = [...folder.left];
  const draft = { project: '', description: '', about: [] as ContextEntry[] };
  for (const each of folder.files) {
    const own: Diagnostics = { problems: [], warnings: [] };
    const file = openFile(each, path);
    const isEpic = each.name === EPIC && !hasId(file.document);
    if (!taskFile.detects(file.document)) left.push({ name: each.name, why: whyNoTask(file.document) });
    else {
      assertReadable(file.document, `${path}/${each.name}`);
      const stories = isEpic
        ? []
        : readTaskFile(file.document, own, nameOf(each)).map((story) => inFile(story, each.name));
      if (isEpic) Object.assign(draft, readEpic(file.document, own));
      files.push({ ...file, name: each.name, dialect: taskFile, stories, marks: stories, warnings: own.warnings });
    }
    for (const problem of own.problems) diagnostics.problems.push({ ...problem, file: each.name });
    addWarnings(own.warnings, each.name, diagnostics);
  }
  const found = files.flatMap(({ stories }) => stories);
  if (found.length === 0 && diagnostics.problems.length === 0) throw noTasks(path, left);
  noteLeft(left, diagnostics);
  exceedsStoryLimit(found.length, diagnostics);
  return { ...draft, files, stories: renameDoneDuplicates(findNeeded(found), diagnostics) };
}

function openFile({ name, text }: FolderFile, path: string): { document: MarkdownDocument; hadMark: boolean } {
  assertLineCount(text, `${path}/${name}`);
  const hadMark = text.startsWith('\uFEFF');
  return { document: readBlocks(hadMark ? text.slice(1) : text), hadMark };
}

/** CCPM names tasks by their files. */
function nameOf({ name }: FolderFile): string {
  return oneLine(name.replace(/\.\w+$/, ''));
}

function hasId(document: MarkdownDocument): boolean {
  return /^id:\s/m.test(document.frontMatter.text);
}

/** The name of an epic, and its text for all tasks; its state and its dates follow from the tasks. */
function readEpic(document: MarkdownDocument, diagnostics: Diagnostics): { project: string; about: ContextEntry[] } {
  const front = readFrontMatter(document, diagnostics);
  const name = front && findMember(front, 'name') && takeText(readMembers(front, diagnostics), 'name');
  const text = textOfLines(document.lines);
  return { project: oneLine(name ?? ''), about: text === '' ? [] : [{ label: 'epic', value: text }] };
}

function whyNoTask({ text, frontMatter }: MarkdownDocument): string {
  if (text.trim() === '') return 'it is empty';
  if (frontMatter.text.trim() === '') return 'it has no front matter';
  return 'its front matter has no status, or neither id, title nor name';
}

function noTasks(path: string, left: PrdFolder['left']): HaloError {
  const names = listSome(
    left.map(({ name }) => name),
    MAX_NAMED,
  );
  return new HaloError('PRD_INVALID', `${path}: The folder has no task files; it has ${oneLine(names)}.`, {
    hint: left.some(({ name }) => name === 'tasks')
      ? `Name ${path}/tasks.`
      : 'A task file has front matter with `status` and `id`, `title` or `name`. Pass a file of the folder, or submit each as a PRD with `halo queue`.',
  });
}

/** Dependencies as ids of the tasks: they may name another case, or only the beginning of a file's name (`001`). */
function findNeeded(stories: DraftStory[]): DraftStory[] {
  const ids = new Map(stories.map(({ id }) => [id.toLowerCase(), id]));
  const starts = new Map<string, string | undefined>();
  for (const { id, at } of stories) {
    const [start = ''] = /^[\p{L}\p{N}]+/u.exec(at.file ?? '') ?? [];
    starts.set(start.toLowerCase(), starts.has(start.toLowerCase()) ? undefined : id);
  }
  const find = (id: string) => ids.get(id.toLowerCase()) ?? starts.get(id.toLowerCase()) ?? id;
  return stories.map((story) => ({
    ...story,
    dependsOn: story.dependsOn.map((needed) => ({ ...needed, id: find(needed.id) })),
  }));
}
