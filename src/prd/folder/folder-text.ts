import { HaloError } from '../../core/failure/errors.ts';
import { hasHidden } from '../../core/text/hidden-characters.ts';
import { safeJson } from '../../core/text/safe-text.ts';
import { assertPrdSize } from '../decode-prd.ts';

/** A file of a folder: its path below the folder, and its text with the byte order mark, if it has one. */
export interface FolderFile {
  name: string;
  text: string;
}

/** A folder whose files are one PRD. `left`: what else is in it, and why it is not read (`it is a link`). */
export interface PrdFolder {
  files: FolderFile[];
  left: { name: string; why: string }[];
}

/** The file with the states of the stories of BMAD. */
export const STATUS_FILE = 'sprint-status.yaml';

/** The field of a story with its key in that file. */
export const STORY_KEY = 'story key';

const KEY = 'halo-folder';
const START = /^\s{0,1000}\{\s{0,1000}"halo-folder"/;

/**
 * A folder as one text, in which it is sent, hashed and parsed like a file: JSON, sorted by name, so that the same files
 * always give the same bytes.
 */
export function writeFolder({ files, left }: PrdFolder): Uint8Array {
  const inOrder = <T extends { name: string }>(all: readonly T[]) =>
    [...all].sort((a, b) => compareNames(a.name, b.name));
  const text = JSON.stringify({
    [KEY]: inOrder(files).map(({ name, text }) => ({ name, text })),
    left: inOrder(left).map(({ name, why }) => ({ name, why })),
  });
  return new TextEncoder().encode(text);
}

/** Whether the bytes of a PRD are the text of a folder. */
export function isFolderText(bytes: Uint8Array): boolean {
  return START.test(new TextDecoder().decode(bytes.subarray(0, 4096)));
}

/** The files of a folder, sorted. The text may come from a client, so names are checked. Throws PRD_INVALID. */
export function readFolderText(bytes: Uint8Array, path: string): PrdFolder {
  assertPrdSize(bytes.length, path);
  const data = parse(bytes, path);
  const files = listOf(data[KEY]).map((each): FolderFile => {
    const { name, text } = each as Partial<FolderFile>;
    if (typeof name !== 'string' || typeof text !== 'string') throw invalid(path, 'each file needs a name and a text');
    if (!isFileName(name)) throw invalid(path, `${safeJson(name.slice(0, 200))} cannot be the name of a file in it`);
    return { name, text };
  });
  const left = listOf(data.left).flatMap((each) => {
    const { name, why } = each as Partial<PrdFolder['left'][number]>;
    return typeof name === 'string' && typeof why === 'string' ? [{ name, why }] : [];
  });
  files.sort((a, b) => compareNames(a.name, b.name));
  const twice = files.find(({ name }, index) => files[index - 1]?.name === name);
  if (twice !== undefined) throw invalid(path, `it has the file ${safeJson(twice.name)} twice`);
  return { files, left };
}

/** The text of a folder with other texts for some of its files. Throws PRD_INVALID. */
export function replaceInFolder(
  bytes: Uint8Array,
  path: string,
  texts: ReadonlyMap<string | undefined, string>,
): Uint8Array {
  const { files, left } = readFolderText(bytes, path);
  return writeFolder({ files: files.map(({ name, text }) => ({ name, text: texts.get(name) ?? text })), left });
}

/** The files that differ between two texts of a folder. Throws PRD_INVALID. */
export function changedFiles(
  before: Uint8Array,
  after: Uint8Array,
  path: string,
): { name: string; before: Uint8Array; after: Uint8Array }[] {
  const old = new Map(readFolderText(before, path).files.map(({ name, text }) => [name, text]));
  const encode = (text: string) => new TextEncoder().encode(text);
  return readFolderText(after, path).files.flatMap(({ name, text }) => {
    const was = old.get(name);
    return was === undefined || was === text ? [] : [{ name, before: encode(was), after: encode(text) }];
  });
}

/** Whether a path is one of the files of a folder of tasks, or of Markdown files of the folder itself, which may be tasks. */
export function isOfFolder(path: string, { folder, names }: { folder: string; names: readonly string[] }): boolean {
  const below = folder === '' ? path : path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : '';
  return names.includes(below) || (isTaskFolder(names) && !below.includes('/') && isMarkdown(below));
}

/** Whether a folder, by the names of its files, has a task in each; otherwise it also has other files than the PRD. */
export function isTaskFolder(names: readonly string[]): boolean {
  return names.every((name) => !name.includes('/') && isMarkdown(name));
}

/** Whether a name is that of a Markdown file. */
export function isMarkdown(name: string): boolean {
  return /\.(?:md|markdown)$/i.test(name);
}

/** Whether two texts of folders have the same files; what else is in the folders does not count. Throws PRD_INVALID. */
export function isSameFolder(a: Uint8Array, b: Uint8Array, path: string): boolean {
  const filesIn = (bytes: Uint8Array) => JSON.stringify(readFolderText(bytes, path).files);
  return filesIn(a) === filesIn(b);
}

function parse(bytes: Uint8Array, path: string): Record<string, unknown> {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as Record<string, unknown>;
  } catch {
    throw invalid(path, 'it is not JSON');
  }
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value.map((each: unknown) => each ?? {}) : [];
}

/** A path below the folder, which cannot lead out of it. */
export function isFileName(name: string): boolean {
  return (
    name.length <= 1000 &&
    !hasHidden(name) &&
    !/\p{Cc}/u.test(name) &&
    name.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && part !== '.git')
  );
}

function invalid(path: string, rule: string): HaloError {
  return new HaloError('PRD_INVALID', `${path}: The text of a folder is not valid: ${rule}.`, {
    hint: 'Write {"halo-folder": [{"name": "task-1.md", "text": "…"}]} (docs/prd.md).',
  });
}

/** Opened with the first comparison: it loads the tables of its language. */
let order: Intl.Collator | undefined;

/** `task-2` comes before `task-10`. */
function compareNames(a: string, b: string): number {
  order ??= new Intl.Collator('en', { numeric: true });
  return order.compare(a, b) || (a < b ? -1 : a === b ? 0 : 1);
}
