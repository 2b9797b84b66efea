import { HaloError } from '../../../core/failure/errors.ts';
import { closeSentence } from '../../../core/text/did-you-mean.ts';
import type { Task } from './tasks-file.ts';

/** `none`: all tasks are completed; `human`: the next task is for a person. */
type Choice = { kind: 'task'; task: Task } | { kind: 'none' } | { kind: 'human'; task: Task };

/**
 * The task that runs next: the first one that is not completed. A requested id must be that of this task. Throws
 * TASK_NOT_NEXT, which names the task before it.
 */
export function chooseTask(tasks: readonly Task[], wanted?: string): Choice {
  const first = tasks.find(isOpen);
  if (wanted !== undefined) assertIsNext(tasks, wanted, first);
  if (first === undefined) return { kind: 'none' };
  return first.model === 'human' ? { kind: 'human', task: first } : { kind: 'task', task: first };
}

/** The message for a task that only a person can do. */
export function describeHuman({ id }: { id: string }, tasksFile: string): string {
  return `${id} is for a person; when it is done, set its status to "completed" in ${tasksFile}`;
}

function isOpen({ status }: Task): boolean {
  return status !== 'completed';
}

function assertIsNext(tasks: readonly Task[], wanted: string, first: Task | undefined): void {
  if (first?.id === wanted) return;
  const name = JSON.stringify(wanted);
  const task = tasks.find(({ id }) => id === wanted);
  if (task === undefined) {
    const ids = tasks.map(({ id }) => id);
    throw new HaloError('TASK_NOT_NEXT', `There is no task ${name} in the tasks file${closeSentence(wanted, ids)}`, {
      hint: tasks.length === 0 ? 'Add a task to the file.' : `Its tasks: ${namesOf(tasks)}.`,
    });
  }
  if (!isOpen(task))
    throw new HaloError('TASK_NOT_NEXT', `The task ${name} is completed already.`, {
      hint: 'Set its status to "unstarted" in the tasks file to run it again.',
    });
  const forPerson = first?.model === 'human';
  const waitsFor = forPerson ? 'for a person' : first?.status;
  throw new HaloError('TASK_NOT_NEXT', `The task ${name} has to wait for ${first?.id}, which is ${waitsFor}.`, {
    hint: forPerson
      ? `Do ${first.id}, then set its status to "completed" in the tasks file.`
      : `Run ${first?.id} first; tasks run in the order of the file.`,
  });
}

const MAX_NAMED = 20;

function namesOf(tasks: readonly Task[]): string {
  const more = tasks.length > MAX_NAMED ? [`${tasks.length - MAX_NAMED} more`] : [];
  return [...tasks.slice(0, MAX_NAMED).map(({ id }) => id), ...more].join(', ');
}
