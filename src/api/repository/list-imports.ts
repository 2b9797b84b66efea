import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { findSwanson, type SwansonProject } from './find-swanson.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { readHankSettings, type HankSettings } from '../../config/output/guess/hankrc.ts';
import { findUnignoredFolders } from '../../git/repository/inspect-repo.ts';
import { isInside, readRegularFile } from '../../lib/fs.ts';
import { convertPrd } from '../../prd/convert-prd.ts';
import { MAX_PRD_BYTES } from '../../prd/decode-prd.ts';
import { parsePrd } from '../../prd/parse-prd.ts';

/** What other tools left in a repository and halo can use. Paths are relative to its top. */
export interface Imports {
  /** The configuration of hank, or of the tool that it is derived from. */
  config?: HankSettings & { path: string };
  /** The file with the text that every prompt begins with. */
  prompt?: string;
  /** Globs of specifications. */
  specs: string[];
  /** A list of tasks that halo does not find by itself. */
  tasks?: TaskImport;
  /** A project of swanson. */
  swanson?: SwansonProject;
  /** Files that were found and cannot be used, a sentence each. */
  refused: string[];
}

export interface TaskImport {
  path: string;
  /** The number of tasks that are not done. */
  open: number;
  /** The tasks as a PRD of the dialect daedalus. */
  text: string;
}

const CONFIGS = ['.hankrc', '.ralphrc'];
const FOLDERS = ['.hank', '.ralph'];
const TASK_FILES = [...FOLDERS.map((folder) => `${folder}/`), ''].flatMap((folder) => [
  `${folder}fix_plan.md`,
  `${folder}@fix_plan.md`,
]);
const MAX_CONFIG_TEXT = 64 * 1024;

/**
 * Looks for files of hank, of tools with the same layout, and of swanson, in a repository. They are only read, as text. `from`: the
 * file with the tasks instead. Throws PRD_UNREADABLE and PRD_INVALID for this file only.
 */
export async function listImports(root: string, from?: string): Promise<Imports> {
  const found: Imports = { specs: [], refused: [] };
  for (const path of CONFIGS) {
    const text = await readOwn(root, path, MAX_CONFIG_TEXT);
    if (text === undefined) continue;
    found.config = { path, ...readHankSettings(text.toString('utf8')) };
    break;
  }
  // Prompts contain only what is committed.
  const folders = await findUnignoredFolders(root, FOLDERS);
  for (const path of folders.map((folder) => `${folder}/PROMPT.md`)) {
    if (found.prompt === undefined && (await readOwn(root, path, MAX_CONFIG_TEXT)) !== undefined) found.prompt = path;
  }
  for (const folder of folders)
    if (await hasMarkdown(root, `${folder}/specs`)) found.specs.push(`${folder}/specs/**/*.md`);
  const swanson = await findSwanson(root);
  if (swanson !== undefined) found.swanson = swanson;
  if (from !== undefined) return { ...found, tasks: await readTaskFile(from) };
  for (const path of TASK_FILES) {
    const bytes = await readOwn(root, path, MAX_PRD_BYTES);
    if (bytes === undefined) continue;
    try {
      const tasks = toTasks(bytes, path);
      if (tasks.open > 0) return { ...found, tasks };
    } catch (error) {
      if (!(error instanceof HaloError)) throw error;
      found.refused.push(`${path} is not imported: ${error.message.split('\n')[0] ?? ''}`);
    }
  }
  return found;
}

/** Undefined for what is missing, not a regular file, too large, or outside of the repository. */
async function readOwn(root: string, path: string, most: number): Promise<Buffer | undefined> {
  const file = join(root, path);
  if (!(await isInside(root, file).catch(() => false))) return undefined;
  return readRegularFile(file, most).catch(() => undefined);
}

async function readTaskFile(path: string): Promise<TaskImport> {
  const bytes = await readRegularFile(path, MAX_PRD_BYTES).catch(() => undefined);
  if (bytes !== undefined) return toTasks(bytes, path);
  throw new HaloError('PRD_UNREADABLE', `The tasks cannot be read from ${path}: it is not a file of at most 4 MiB.`, {
    hint: 'Check the path of --from.',
  });
}

function toTasks(bytes: Buffer, path: string): TaskImport {
  const { stories } = parsePrd(bytes, path);
  const open = stories.filter(({ status }) => status === 'pending' || status === 'in_progress').length;
  return { path, open, text: convertPrd(bytes, path, 'daedalus').text };
}

async function hasMarkdown(root: string, folder: string): Promise<boolean> {
  if (!(await isInside(root, join(root, folder)).catch(() => false))) return false;
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => []);
  return entries.some((entry) => entry.isFile() && entry.name.endsWith('.md'));
}
