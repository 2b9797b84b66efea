import { basename } from 'node:path';
import type { PrdBytes } from '../../operations.ts';
import type { RunnableTask } from './runnable-task.ts';

/** A PRD of this one task. The prompt file comes first, the entry of the tasks file as it is goes with the story. */
export function taskPrd(
  task: RunnableTask,
  { path, project, prompt }: { path: string; project: string; prompt: string },
): PrdBytes {
  const { description } = task.json;
  const own = typeof description === 'string' ? description.trim() : '';
  const entry = `The task as the tasks file has it, which counts:\n\`\`\`json\n${JSON.stringify(task.json, null, 2)}\n\`\`\``;
  // With a change of its own the result could not land: the file in the checkout has changed, too.
  const kept = `Progress in ${basename(path)} is kept for you: do not change that file.`;
  const document = {
    project,
    description: prompt,
    tasks: [
      {
        task_id: task.id,
        title: task.title,
        description: [own, entry, kept].filter((part) => part !== '').join('\n\n'),
        definition_of_done: task.definitionOfDone,
        recommended: { approach: task.approach },
        model: task.model,
        status: 'unstarted',
      },
    ],
  };
  return { path, bytes: new TextEncoder().encode(JSON.stringify(document)) };
}
