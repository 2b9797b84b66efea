import { HaloError } from '../../core/failure/errors.ts';
import { listSome } from '../../lib/text.ts';
import { exceedsStoryLimit, type Diagnostics } from '../diagnostics.ts';
import type { ContextEntry, Draft, DraftStory, FilesDraft, PrdDocument, ReadFile } from '../dialect.ts';
import { markdownStories } from '../dialects/markdown-dialects.ts';
import { sprintStatus } from '../dialects/sprint-status.ts';
import { openDocument } from '../open-document.ts';
import { renameDoneDuplicates } from '../story/story-ids.ts';
import { addWarnings, inFile, noteLeft, type FolderOptions } from './folder-reading.ts';
import { STATUS_FILE, STORY_KEY, type FolderFile, type PrdFolder } from './folder-text.ts';

/** Whether a folder is one of BMAD: epics, and the states of their stories in another file. */
export function isBmadFolder({ files }: PrdFolder): boolean {
  return files.some(isStatusFile);
}

function isStatusFile({ name }: FolderFile): boolean {
  return name.split('/').at(-1) === STATUS_FILE;
}

/** `### Story 1.2: Title`, as BMAD writes stories into its epics; the id of such a story. */
const STORY_ID = /^story-(\d+)\.(\d+[a-z]?)$/i;

/** The beginning of the key that a story has in the file of the states. */
function keyStart(story: DraftStory): string | undefined {
  const [, epic, number] = STORY_ID.exec(story.id) ?? [];
  return epic === undefined || number === undefined ? undefined : `${epic}-${number.toLowerCase()}-`;
}

/**
 * Reads the epics of BMAD with the states of their stories: the texts are those of the epics, state and mark those of
 * `sprint-status.yaml`. Pure. Throws PRD_INVALID.
 */
export function readBmadFolder(folder: PrdFolder, { path, as, diagnostics }: FolderOptions): FilesDraft {
  if (as !== undefined && as !== markdownStories.id)
    throw new HaloError('PRD_INVALID', `${path}: The epics of BMAD are read as ${markdownStories.id}, not as ${as}.`, {
      hint: 'Name a file of the folder, or remove `--as`.',
    });
  const left = [...folder.left];
  const epics = folder.files
    .filter((file) => !isStatusFile(file))
    .flatMap((file) => readEpics(file, { path, diagnostics, left }));
  noteLeft(left, diagnostics);
  const [states] = folder.files.filter(isStatusFile).map((file) => readStates(file, path, diagnostics));
  const texts = epics.flatMap(({ draft }) => draft.stories);
  if (states === undefined || texts.length === 0)
    throw new HaloError('PRD_INVALID', `${path}: The epics have no stories ("### Story 1.1: Title").`, {
      hint: `Name a file with stories, or ${STATUS_FILE} alone.`,
    });
  const entries = new Map(states.draft.stories.map((entry) => [/^\d+-\d+[a-z]?-/.exec(entry.id)?.[0], entry]));
  const stories = texts.map(withStoryIds).map((story) => {
    const start = keyStart(story);
    const entry = entries.get(start);
    if (entry === undefined) return story;
    entries.delete(start);
    return withState(story, entry);
  });
  noteMissing(stories, diagnostics);
  exceedsStoryLimit(stories.length + entries.size, diagnostics);
  const files = [...epics.map(({ file }) => file), states.file];
  const [first] = epics;
  return {
    project: states.draft.project === '' ? (first?.draft.project ?? '') : states.draft.project,
    description: first?.draft.description ?? '',
    about: contextOf(epics.map(({ draft }) => draft)),
    stories: renameDoneDuplicates([...stories, ...entries.values()], diagnostics),
    files,
  };
}

interface ReadDraft {
  file: ReadFile;
  draft: Draft;
}

function readEpics(
  { name, text }: FolderFile,
  { path, diagnostics, left }: Omit<FolderOptions, 'as'> & { left: PrdFolder['left'] },
): ReadDraft[] {
  const leave = (why: string) => {
    left.push({ name, why });
    return [];
  };
  if (text.trim() === '') return leave('it is empty');
  const read = open({ name, text }, path, diagnostics, (document, own) =>
    document.format === 'markdown' && markdownStories.detects(document)
      ? markdownStories.read(document, own)
      : undefined,
  );
  return read === undefined || !read.draft.stories.some((story) => keyStart(story) !== undefined)
    ? leave('it has no story of BMAD')
    : [read];
}

function readStates(file: FolderFile, path: string, diagnostics: Diagnostics): ReadDraft {
  const read = open(file, path, diagnostics, (document, own) =>
    document.format === 'json' && sprintStatus.detects(document) ? sprintStatus.read(document, own) : undefined,
  );
  if (read !== undefined) return read;
  throw new HaloError('PRD_INVALID', `${path}/${file.name}: The file has no map \`development_status\`.`, {
    hint: 'Let BMAD plan the sprint again, or name the epics alone.',
  });
}

/** Reads a file with `read`; its problems and notes count if the file is what it should be. */
function open(
  { name, text }: FolderFile,
  path: string,
  diagnostics: Diagnostics,
  read: (document: PrdDocument, own: Diagnostics) => Draft | undefined,
): ReadDraft | undefined {
  const own: Diagnostics = { problems: [], warnings: [] };
  const bytes = new TextEncoder().encode(text);
  const { document, hadMark } = openDocument(bytes, `${path}/${name}`, own);
  const draft = read(document, own);
  if (draft === undefined) return undefined;
  for (const problem of own.problems) diagnostics.problems.push({ ...problem, file: name });
  addWarnings(own.warnings, name, diagnostics);
  const dialect = document.format === 'json' ? sprintStatus : markdownStories;
  const stories = draft.stories.map((story) => inFile(story, name));
  const file = { name, document, hadMark, dialect, stories, marks: stories, warnings: own.warnings };
  return { file, draft: { ...draft, stories } };
}

/** A story whose dependencies are ids of stories: `2.6` is one of another file of epics. */
function withStoryIds(story: DraftStory): DraftStory {
  const idOf = (id: string) => (/^\d+\.\d+[a-z]?$/i.test(id) ? `story-${id.toLowerCase()}` : id);
  return { ...story, dependsOn: story.dependsOn.map((needed) => ({ ...needed, id: idOf(needed.id) })) };
}

/** A story with the state and the mark of its entry, and the key, which names its story file. */
function withState(story: DraftStory, { id, status, mark, at }: DraftStory): DraftStory {
  return { ...story, status, mark, markFile: at.file, extra: { ...story.extra, [STORY_KEY]: id } };
}

function noteMissing(stories: DraftStory[], { warnings }: Diagnostics): void {
  const missing = stories.flatMap(({ id, markFile }) => (markFile === undefined ? [id] : []));
  if (missing.length > 0)
    warnings.push({
      story: undefined,
      text: `not in ${STATUS_FILE}, so their states are those of the epics: ${listSome(missing, 5)}`,
    });
}

/** The context of several files, whose stories are in one list. */
function contextOf(drafts: Draft[]): ContextEntry[] {
  let before = 0;
  return drafts.flatMap(({ about, stories }) => {
    const from = before;
    before += stories.length;
    return about.map((entry) =>
      entry.stories === undefined ? entry : { ...entry, stories: entry.stories.map((place) => place + from) },
    );
  });
}
