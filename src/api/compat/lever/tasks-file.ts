import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import { HaloError } from '../../../core/failure/errors.ts';
import { lookOf, spellOut } from '../../../core/look-alike.ts';
import { readRegularFile } from '../../../lib/read-file.ts';
import { leadsOut } from '../../../lib/inside.ts';
import { applyEdits, type Edit } from '../../../prd/json/text-edits.ts';
import { decodePrd, MAX_PRD_BYTES } from '../../../prd/decode-prd.ts';
import { findIdFault } from '../../../prd/ids.ts';
import { parseJson, type JsonValue } from '../../../prd/json/json-positions.ts';
import { setMembers } from '../../../prd/json/set-members.ts';
import { replaceFile } from '../../../worker/repository/replace-file.ts';
import { cannotWrite } from '../../repository/write-error.ts';

/** One entry of a tasks file, as far as the choice of a task goes. */
export interface Task {
  id: string;
  /** As the file has it; a missing one is `unstarted`. */
  status: string;
  model: string | undefined;
  /** Runs that were begun so far. */
  runAttempts: number;
  /** The entry as it is. */
  json: Record<string, unknown>;
}

/** Where tasks are looked for when `--tasks` does not say it, in this order. */
const NAMES = ['prd.json', 'tasks.json'];

/** The absolute path of the tasks file. Throws PRD_UNREADABLE. */
export async function findTasksFile(workspace: string, named: string | undefined): Promise<string> {
  const names = named === undefined ? NAMES : [named];
  for (const path of names.map((name) => resolve(workspace, name))) {
    if (!(await isThere(path))) continue;
    if (!(await leadsOut(workspace, path))) return path;
    throw new HaloError('PRD_UNREADABLE', `The tasks file ${path} is a link out of ${workspace}.`, {
      hint: 'Name the file itself with --tasks, if it is the one you mean.',
    });
  }
  if (named !== undefined)
    throw new HaloError('PRD_UNREADABLE', `There is no tasks file ${resolve(workspace, named)}.`, {
      hint: '--tasks names a file; a relative path starts at the workspace.',
    });
  throw new HaloError('PRD_UNREADABLE', `There is neither prd.json nor tasks.json in ${workspace}.`, {
    hint: 'Name the tasks file with --tasks, or the folder that has it with --workspace.',
  });
}

/** The tasks in the order of the file. Throws PRD_UNREADABLE, PRD_INVALID. */
export async function readTasks(path: string): Promise<Task[]> {
  const bytes = await readRegularFile(path, MAX_PRD_BYTES).catch((cause: NodeJS.ErrnoException) => {
    throw new HaloError('PRD_UNREADABLE', `The tasks file ${path} cannot be read (${cause.code ?? cause.message}).`, {
      hint: 'Name a file that you may read.',
      cause,
    });
  });
  const { text } = decodePrd(bytes, path);
  const tasks = findEntries(text, path).map((at, index) => toTask(at, { path, name: `task ${index + 1}` }));
  const seen = new Map<string, string>();
  for (const { id } of tasks) {
    const earlier = seen.get(lookOf(id));
    if (earlier !== undefined) {
      const twice = `two tasks have the task_id ${JSON.stringify(id)}`;
      const alike = `the task_ids ${spellOut(earlier)} and ${spellOut(id)} look alike`;
      throw new HaloError('PRD_INVALID', `${path}: ${earlier === id ? twice : alike}.`, {
        hint: 'Give each task an id of its own.',
      });
    }
    seen.set(lookOf(id), id);
  }
  return tasks;
}

/** The task as if it had never been run; the notes of its runs stay. */
export function resetTask(task: Task): Task {
  const { observability } = task.json;
  const seen = typeof observability === 'object' && observability !== null && !Array.isArray(observability);
  const fresh = seen ? { observability: { ...observability, run_attempts: 0 } } : {};
  return { ...task, status: 'unstarted', runAttempts: 0, json: { ...task.json, status: 'unstarted', ...fresh } };
}

export interface Progress {
  status: 'unstarted' | 'started' | 'blocked' | 'completed';
  observability: Record<string, unknown>;
}

/**
 * Writes progress of one task into the file, in place: nothing else of it changes.
 * Throws PRD_INVALID when the task is gone, DISK_FAILED.
 */
export async function writeProgress(path: string, id: string, progress: Progress): Promise<void> {
  await replaceFile(path, (bytes) => {
    const { text, hadMark } = decodePrd(bytes, path);
    const at = findEntries(text, path).find((entry) => idOf(entry) === id);
    if (at === undefined)
      throw new HaloError('PRD_INVALID', `${path}: the task ${JSON.stringify(id)} is no longer there.`, {
        hint: 'Put it back, or start again.',
      });
    return new TextEncoder().encode((hadMark ? '\uFEFF' : '') + applyEdits(text, editsOf(at, progress, text)));
  }).catch(cannotWrite(path));
}

function editsOf(at: JsonValue, { status, observability }: Progress, text: string): Edit[] {
  const inner = at.members.get('observability');
  if (inner?.kind !== 'object') return setMembers(at, { status, observability }, text);
  return [...setMembers(at, { status }, text), ...setMembers(inner, observability, text)];
}

/** The file is a list of tasks, or an object that has it as `tasks`. */
function findEntries(text: string, path: string): readonly JsonValue[] {
  const findings = { problems: [], warnings: [] };
  const json = parseJson(text, path, findings);
  const list = json.kind === 'array' ? json : json.members.get('tasks');
  if (list?.kind === 'array') return list.items;
  throw new HaloError('PRD_INVALID', `${path}: neither a list of tasks nor an object with \`tasks\`.`, {
    hint: 'Write [{"task_id": …}] or {"tasks": [{"task_id": …}]}; `halo prd convert --to lever` writes other PRDs so.',
  });
}

function toTask(at: JsonValue, { path, name }: { path: string; name: string }): Task {
  const id = idOf(at);
  if (id === undefined)
    throw new HaloError('PRD_INVALID', `${path}: ${name} has no task_id that is a text.`, {
      hint: 'Give it one, as in "task_id": "T-1".',
    });
  const fault = findIdFault(id.trim());
  if (fault !== undefined)
    throw new HaloError('PRD_INVALID', `${path}: the task_id of ${name} ${fault}.`, { hint: 'Give it another one.' });
  const { status, model } = at.value as Record<string, unknown>;
  const attempts = at.members.get('observability')?.members.get('run_attempts')?.value;
  return {
    id,
    status: typeof status === 'string' && status.trim() !== '' ? status : 'unstarted',
    model: typeof model === 'string' ? model : undefined,
    runAttempts: typeof attempts === 'number' && attempts > 0 ? Math.floor(attempts) : 0,
    json: at.value as Record<string, unknown>,
  };
}

function idOf(at: JsonValue): string | undefined {
  const id = at.members.get('task_id')?.value;
  return typeof id === 'string' && id.trim() !== '' ? id : undefined;
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
