import { opendir, readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { HaloError } from '../core/failure/errors.ts';
import type { PrdFile } from '../core/prd/prd.ts';
import { mapConcurrent } from '../lib/async.ts';
import { readRegularFile, UnreadableFileError } from '../lib/fs.ts';
import { decodeText, MAX_PRD_BYTES } from './decode-prd.ts';
import {
  isFileName,
  isFolderText,
  isMarkdown,
  STATUS_FILE,
  writeFolder,
  type PrdFolder,
} from './folder/folder-text.ts';

/** More entries than a folder of task files has. */
const MAX_ENTRIES = 10_000;

/**
 * Reads a PRD: a file, or a folder, whose bytes are the text of its files (folder/folder-text.ts). Throws
 * UnreadableFileError, errors of the file system, PRD_INVALID and PRD_UNREADABLE.
 */
export async function readPrdSource(path: string): Promise<PrdFile> {
  if ((await stat(path)).isDirectory()) {
    const bytes = writeFolder((await readBmadFiles(path)) ?? (await readFolder(path)));
    if (bytes.length > MAX_PRD_BYTES) throw tooLarge(path, TOO_MUCH);
    return { path, bytes };
  }
  const bytes = await readRegularFile(path, MAX_PRD_BYTES);
  // Marks would be written into the text, not into the files.
  if (isFolderText(bytes))
    throw new HaloError('PRD_INVALID', `${path}: The file has the text of a folder, which only requests may have.`, {
      hint: 'Name the folder itself.',
    });
  return { path, bytes: new Uint8Array(bytes) };
}

/** Reads the Markdown files of a folder itself, without following links. Hidden files are not part of it. */
async function readFolder(path: string): Promise<PrdFolder> {
  const folder: PrdFolder = { files: [], left: [] };
  const names: string[] = [];
  let entries = 0;
  for await (const entry of await opendir(path)) {
    if (++entries > MAX_ENTRIES) throw tooLarge(path, `has more than ${MAX_ENTRIES} entries`);
    const { name } = entry;
    if (name.startsWith('.') || name.endsWith('~')) continue;
    const why = entry.isDirectory()
      ? 'it is a folder'
      : !isMarkdown(name)
        ? 'it is not Markdown'
        : entry.isSymbolicLink()
          ? 'it is a link'
          : !entry.isFile()
            ? 'it is not a regular file'
            : isFileName(name) && !name.includes('\uFFFD')
              ? undefined
              : 'its name has hidden or invalid characters';
    if (why === undefined) names.push(name);
    else folder.left.push({ name, why });
  }
  let left = MAX_PRD_BYTES;
  const read = await mapConcurrent(names, READERS, async (name) => {
    const bytes = await readFileOf(path, { name, left });
    left -= bytes?.length ?? 0;
    if (left < 0) throw tooLarge(path, TOO_MUCH);
    return bytes === undefined ? [] : [{ name, text: decodeText(bytes, join(path, name)) }];
  });
  folder.files.push(...read.flat());
  // Its parser says that the tasks of Backlog.md are in a folder below.
  const mayHaveTasks = folder.left.some(({ name }) => name === 'tasks');
  if (folder.files.length === 0 && !mayHaveTasks)
    throw Object.assign(new Error('it is a folder without task files'), { code: 'EISDIR' });
  return folder;
}

/** Where BMAD keeps the states of its stories, and the epics with their texts, below its folder for documents. */
const STATES = ['', 'implementation-artifacts/', 'sprint-artifacts/', 'stories/'].map(
  (folder) => `${folder}${STATUS_FILE}`,
);
const EPICS = ['', 'planning-artifacts/'];

/** The epics of BMAD in a folder, and the states of their stories; undefined if it does not have both. */
async function readBmadFiles(path: string): Promise<PrdFolder | undefined> {
  const states = await findFirst(path, STATES);
  if (states === undefined) return undefined;
  const whole = await findFirst(
    path,
    EPICS.map((folder) => `${folder}epics.md`),
  );
  const names = whole === undefined ? await listEpics(path) : [whole];
  if (names.length === 0) return undefined;
  const files: PrdFolder['files'] = [];
  let left = MAX_PRD_BYTES;
  for (const name of [...names, states]) {
    const bytes = await readFileOf(path, { name, left });
    left -= bytes?.length ?? 0;
    if (bytes !== undefined) files.push({ name, text: decodeText(bytes, join(path, name)) });
  }
  return { files, left: [] };
}

/** The first of these files that the folder has, without links. */
async function findFirst(path: string, names: readonly string[]): Promise<string | undefined> {
  const real = await realpath(path);
  for (const name of names) {
    const file = await realpath(join(real, name)).catch(() => undefined);
    if (file === join(real, name) && (await stat(file)).isFile()) return name;
  }
  return undefined;
}

/** Epics that BMAD has split into one file each. */
async function listEpics(path: string): Promise<string[]> {
  const real = await realpath(path);
  for (const folder of EPICS.map((each) => `${each}epics`)) {
    const found = await readdir(join(real, folder), { withFileTypes: true }).catch(() => []);
    const names = found.filter((entry) => entry.isFile() && isMarkdown(entry.name) && isFileName(entry.name));
    const isOwn = (await realpath(join(real, folder)).catch(() => '')) === join(real, folder);
    if (isOwn && names.length > 0) return names.slice(0, MAX_ENTRIES).map(({ name }) => `${folder}/${name}`);
  }
  return [];
}

/**
 * The folder of BMAD that a file or folder of epics belongs to, if it also has the states of their stories: they are one
 * PRD. Undefined for other paths.
 */
export async function findBmadFolder(path: string): Promise<string | undefined> {
  if (!/^epics(?:\.md)?$/.test(basename(path))) return undefined;
  for (const folder of [dirname(path), dirname(dirname(path))]) {
    const files = (await readBmadFiles(folder).catch(() => undefined))?.files ?? [];
    if (files.some(({ name }) => join(folder, name) === path || dirname(join(folder, name)) === path)) return folder;
  }
  return undefined;
}

/** Files that are read at the same time. */
const READERS = 16;

const TOO_MUCH = `has more than ${MAX_PRD_BYTES} bytes (4 MiB) of Markdown`;

/** Undefined for a file that is gone since its folder was listed. */
async function readFileOf(folder: string, { name, left }: { name: string; left: number }): Promise<Buffer | undefined> {
  const path = join(folder, name);
  try {
    return await readRegularFile(path, left, { noLink: true });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    if (cause instanceof UnreadableFileError && (await stat(path)).size > left) throw tooLarge(folder, TOO_MUCH);
    throw new HaloError('PRD_UNREADABLE', `${path} cannot be read: ${(cause as Error).message}.`, {
      hint: 'Make the file readable, or move it out of the folder.',
      cause,
    });
  }
}

function tooLarge(path: string, what: string): HaloError {
  return new HaloError('PRD_INVALID', `${path}: The folder ${what}.`, {
    hint: 'Move files that are not open tasks out of it, or name one file of it.',
  });
}
