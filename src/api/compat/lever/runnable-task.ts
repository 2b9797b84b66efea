import { HaloError } from '../../../core/failure/errors.ts';
import type { Task } from './tasks-file.ts';

/** What a run needs of a task. */
export interface RunnableTask extends Task {
  title: string;
  definitionOfDone: string[];
  approach: string;
  model: string;
}

/** The models that a task may name. */
const MODELS = ['gpt-5.1-codex-mini', 'gpt-5.1-codex', 'gpt-5.2-codex'];

/** The task with all that a run needs of it. Throws TASK_INVALID, which names everything that is missing. */
export function checkTask(task: Task): RunnableTask {
  const { title, definition_of_done: done, recommended } = task.json;
  const approach = isObject(recommended) ? recommended['approach'] : undefined;
  const missing = [
    ...(isText(title) ? [] : ['title']),
    ...(isTexts(done) ? [] : ['definition_of_done (a list with at least one text)']),
    ...(isText(approach) ? [] : ['recommended.approach']),
    ...(MODELS.includes(task.model ?? '') ? [] : [`model (one of ${MODELS.join(', ')}, or human)`]),
  ];
  if (!isText(title) || !isTexts(done) || !isText(approach) || task.model === undefined || missing.length > 0)
    throw new HaloError('TASK_INVALID', `The task ${JSON.stringify(task.id)} lacks ${missing.join('; ')}.`, {
      hint: 'Write what is missing into the tasks file.',
    });
  return { ...task, title, definitionOfDone: done, approach, model: task.model };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every(isText);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
