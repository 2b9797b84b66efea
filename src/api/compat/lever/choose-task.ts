import { HaloError } from '../../../core/failure/errors.ts';
import type { Task } from './tasks-file.ts';

/** `none`: all are completed; `human`: the first that is not is for a person. */
export type Choice = { kind: 'task'; task: Task } | { kind: 'none' } | { kind: 'human'; task: Task };

/**
 * The task that runs next: the first one that is not completed. A task that is asked for by id must be that one.
 * Throws TASK_NOT_NEXT, which names what stands before it.
 */
export function chooseTask(tasks: readonly Task[], wanted?: string): Choice {
  const first = tasks.find(isOpen);
  if (wanted !== undefined) refuseUnlessNext(tasks, wanted, first);
  if (first === undefined) return { kind: 'none' };
  return first.model === 'human' ? { kind: 'human', task: first } : { kind: 'task', task: first };
}

/** A task that only a person can do, and how the next one gets its turn. */
export function describeHuman({ id }: { id: string }, tasksFile: string): string {
  return `${id} is for a person; when it is done, set its status to "completed" in ${tasksFile}`;
}

function isOpen({ status }: Task): boolean {
  return status !== 'completed';
}

function refuseUnlessNext(tasks: readonly Task[], wanted: string, first: Task | undefined): void {
  if (first?.id === wanted) return;
  const name = JSON.stringify(wanted);
  const task = tasks.find(({ id }) => id === wanted);
  if (task === undefined)
    throw new HaloError('TASK_NOT_NEXT', `There is no task ${name} in the tasks file.`, {
      hint: tasks.length === 0 ? 'It has none.' : `Its tasks: ${namesOf(tasks)}.`,
    });
  if (!isOpen(task))
    throw new HaloError('TASK_NOT_NEXT', `The task ${name} is completed already.`, {
      hint: 'Set its status to "unstarted" in the tasks file to run it again.',
    });
  const forPerson = first?.model === 'human';
  const stands = forPerson ? 'for a person' : first?.status;
  throw new HaloError('TASK_NOT_NEXT', `The task ${name} has to wait for ${first?.id}, which is ${stands}.`, {
    hint: forPerson
      ? `Do ${first.id}, then set its status to "completed" in the tasks file.`
      : `Run ${first?.id} first; tasks run in the order of the file.`,
  });
}

const MOST_NAMED = 20;

function namesOf(tasks: readonly Task[]): string {
  const more = tasks.length > MOST_NAMED ? [`${tasks.length - MOST_NAMED} more`] : [];
  return [...tasks.slice(0, MOST_NAMED).map(({ id }) => id), ...more].join(', ');
}
