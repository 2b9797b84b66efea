import { HaloError } from '../../../core/failure/errors.ts';
import { didYouMean } from '../../../core/text/did-you-mean.ts';
import type { Task } from './tasks-file.ts';
import { isRecord } from '../../../lib/guards.ts';

/** The fields of a task that a run needs. */
export interface RunnableTask extends Task {
  title: string;
  definitionOfDone: string[];
  approach: string;
  model: string;
}

/** The models that a task may name. */
const MODELS = ['gpt-5.1-codex-mini', 'gpt-5.1-codex', 'gpt-5.2-codex'];

/** Reads what a run needs from a task. Throws TASK_INVALID with all missing fields. */
export function requireRunnableTask(task: Task): RunnableTask {
  const { title, definition_of_done: done, recommended } = task.json;
  const approach = isRecord(recommended) ? recommended['approach'] : undefined;
  const missing = [
    ...(isText(title) ? [] : ['title']),
    ...(isTexts(done) ? [] : ['definition_of_done (a list with at least one text)']),
    ...(isText(approach) ? [] : ['recommended.approach']),
    ...(MODELS.includes(task.model ?? '') ? [] : [lackOfModel(task.model)]),
  ];
  if (!isText(title) || !isTexts(done) || !isText(approach) || task.model === undefined || missing.length > 0)
    throw new HaloError('TASK_INVALID', `The task ${JSON.stringify(task.id)} lacks ${missing.join('; ')}.`, {
      hint: 'Add the missing fields to the tasks file.',
    });
  return { ...task, title, definitionOfDone: done, approach, model: task.model };
}

function lackOfModel(model: string | undefined): string {
  const allowed = `one of ${MODELS.join(', ')}, or human${didYouMean(model, MODELS)}`;
  return model === undefined ? `model (${allowed})` : `a valid model (${allowed}; it is ${JSON.stringify(model)})`;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every(isText);
}
