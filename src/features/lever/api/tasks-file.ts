import { cannotWrite } from '../../../api/repository/write-error.ts';
import { replaceFile } from '../../../worker/repository/replace-file.ts';
import { applyEdits, setMembers, type Edit } from '../../../prd/json/edit-json.ts';
import { parseJsonWithPositions, type JsonValue } from '../../../prd/json/json-positions.ts';
import { findIdProblem } from '../../../prd/story/story-ids.ts';
import { decodePrd, MAX_PRD_BYTES } from '../../../prd/decode-prd.ts';
import { escapesFolder, readRegularFile, pathExists } from '../../../lib/fs.ts';
import { visualSkeleton, quoteExactly } from '../../../core/text/look-alike.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { isRecord } from '../../../lib/guards.ts';
import { resolve } from 'node:path';

/** One entry of a tasks file: the fields that decide which task is next. */
export interface Task {
  id: string;
  /** As in the file; `unstarted` if missing. */
  status: string;
  model: string | undefined;
  /** The number of runs started so far. */
  runAttempts: number;
  /** The note of its last run. */
  lastNote?: string;
  /** The unchanged entry. */
  json: Record<string, unknown>;
}

/** The default paths of the tasks file, in order of precedence. */
const NAMES = ['prd.json', 'tasks.json'];

/** The absolute path of the tasks file. Throws PRD_UNREADABLE. */
export async function resolveTasksFile(workspace: string, named: string | undefined): Promise<string> {
  const names = named === undefined ? NAMES : [named];
  for (const path of names.map((name) => resolve(workspace, name))) {
    if (!(await pathExists(path))) continue;
    if (!(await escapesFolder(workspace, path))) return path;
    throw new HaloError('PRD_UNREADABLE', `The tasks file ${path} is a link that leads out of ${workspace}.`, {
      hint: 'Pass the file itself with --tasks.',
    });
  }
  if (named !== undefined)
    throw new HaloError('PRD_UNREADABLE', `There is no tasks file ${resolve(workspace, named)}.`, {
      hint: 'Set --tasks to an existing file; a relative path starts at the workspace.',
    });
  throw new HaloError('PRD_UNREADABLE', `There is neither prd.json nor tasks.json in ${workspace}.`, {
    hint: 'Set --tasks to the tasks file, or --workspace to its folder.',
  });
}

/** The tasks in the order of the file. Throws PRD_UNREADABLE, PRD_INVALID. */
export async function readTasks(path: string): Promise<Task[]> {
  const bytes = await readRegularFile(path, MAX_PRD_BYTES).catch((cause: NodeJS.ErrnoException) => {
    throw new HaloError('PRD_UNREADABLE', `The tasks file ${path} cannot be read (${cause.code ?? cause.message}).`, {
      hint: 'Use a file that you may read.',
      cause,
    });
  });
  const { text } = decodePrd(bytes, path);
  const tasks = findEntries(text, path).map((at, index) => toTask(at, { path, name: `task ${index + 1}` }));
  const seen = new Map<string, string>();
  for (const { id } of tasks) {
    const earlier = seen.get(visualSkeleton(id));
    if (earlier !== undefined) {
      const twice = `two tasks have the task_id ${JSON.stringify(id)}`;
      const alike = `the task_ids ${quoteExactly(earlier)} and ${quoteExactly(id)} look alike`;
      throw new HaloError('PRD_INVALID', `${path}: ${earlier === id ? twice : alike}.`, {
        hint: 'Give each task a different id.',
      });
    }
    seen.set(visualSkeleton(id), id);
  }
  return tasks;
}

/** Resets a task as if it had never been run, but keeps the notes of its runs. */
export function resetTask(task: Task): Task {
  const { observability } = task.json;
  const fresh = isRecord(observability) ? { observability: { ...observability, run_attempts: 0 } } : {};
  return { ...task, status: 'unstarted', runAttempts: 0, json: { ...task.json, status: 'unstarted', ...fresh } };
}

export interface Progress {
  status: 'unstarted' | 'started' | 'blocked' | 'completed';
  observability: Record<string, unknown>;
}

/**
 * Writes the progress of one task into the file, in place, without any other change.
 * Throws PRD_INVALID when the task is gone, DISK_FAILED.
 */
export async function writeProgress(path: string, id: string, progress: Progress): Promise<void> {
  await replaceFile(path, (bytes) => {
    const { text, hadMark } = decodePrd(bytes, path);
    const at = findEntries(text, path).find((entry) => idOf(entry) === id);
    if (at === undefined)
      throw new HaloError('PRD_INVALID', `${path}: The task ${JSON.stringify(id)} is no longer there.`, {
        hint: 'Restore the task, or start again.',
      });
    return new TextEncoder().encode((hadMark ? '\uFEFF' : '') + applyEdits(text, editsOf(at, progress, text)));
  }).catch(cannotWrite(path));
}

function editsOf(at: JsonValue, { status, observability }: Progress, text: string): Edit[] {
  const inner = at.members.get('observability');
  if (inner?.kind !== 'object') return setMembers(at, { status, observability }, text);
  return [...setMembers(at, { status }, text), ...setMembers(inner, observability, text)];
}

/** The file is a list of tasks, or an object with a list `tasks`. */
function findEntries(text: string, path: string): readonly JsonValue[] {
  const findings = { problems: [], warnings: [] };
  const json = parseJsonWithPositions(text, path, findings);
  const list = json.kind === 'array' ? json : json.members.get('tasks');
  if (list?.kind === 'array') return list.items;
  throw new HaloError('PRD_INVALID', `${path}: The file is neither a list of tasks nor an object with \`tasks\`.`, {
    hint: 'Write [{"task_id": …}] or {"tasks": [{"task_id": …}]}; `halo prd convert --to lever` writes other PRDs so.',
  });
}

function toTask(at: JsonValue, { path, name }: { path: string; name: string }): Task {
  const id = idOf(at);
  if (id === undefined)
    throw new HaloError('PRD_INVALID', `${path}: The task_id of ${name} is missing or not a text.`, {
      hint: 'Give it one, as in "task_id": "T-1".',
    });
  const fault = findIdProblem(id.trim());
  if (fault !== undefined)
    throw new HaloError('PRD_INVALID', `${path}: The task_id of ${name} ${fault}.`, { hint: 'Give it another one.' });
  const { status, model } = at.value as Record<string, unknown>;
  const { run_attempts: attempts, last_note: note } = (at.members.get('observability')?.value ?? {}) as Record<
    string,
    unknown
  >;
  return {
    id,
    status: typeof status === 'string' && status.trim() !== '' ? status : 'unstarted',
    model: typeof model === 'string' ? model : undefined,
    runAttempts: typeof attempts === 'number' && attempts > 0 ? Math.floor(attempts) : 0,
    ...(typeof note === 'string' && { lastNote: note }),
    json: at.value as Record<string, unknown>,
  };
}

function idOf(at: JsonValue): string | undefined {
  const id = at.members.get('task_id')?.value;
  return typeof id === 'string' && id.trim() !== '' ? id : undefined;
}
