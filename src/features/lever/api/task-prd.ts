import { basename } from 'node:path';
import type { PrdFile } from '../../../core/prd/prd.ts';
import type { RunnableTask } from './runnable-task.ts';

/** A PRD of this one task. The prompt file precedes the story, which contains the unchanged entry of the tasks file. */
export function taskPrd(
  task: RunnableTask,
  { path, project, prompt }: { path: string; project: string; prompt: string },
): PrdFile {
  const { description } = task.json;
  const own = typeof description === 'string' ? description.trim() : '';
  const entry = `The task as the tasks file has it, which counts:\n\`\`\`json\n${JSON.stringify(task.json, null, 2)}\n\`\`\``;
  // If the agent also changed the file, the result could not land, because the file in the checkout has changed, too.
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
