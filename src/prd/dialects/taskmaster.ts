import type { StoryStatus } from '../../core/prd/prd.ts';
import type { JsonDialect } from '../dialect.ts';
import type { StoryMember } from '../json/find-list.ts';
import { readJsonPrd } from '../json/read-json.ts';
import { extraOf, writeJson } from '../json/write-json.ts';

/** `{master: {tasks: [{id, title, description, details, testStrategy, dependencies, status, subtasks}]}}`, or only `tasks`. */
export const taskmaster: JsonDialect = {
  id: 'taskmaster',
  format: 'json',
  title: 'taskmaster (tags with tasks, or tasks with testStrategy or subtasks)',
  doneWord: 'done',
  detects: ({ found }) =>
    found !== undefined &&
    !found.wrapped &&
    (found.kind === 'tag' || (found.kind === 'key' && found.key === 'tasks' && found.members.some(isTask))),
  read: readJsonPrd,
  write: ({ project, description, stories }) => {
    const tasks = stories.map(({ id, title, description, acceptance, priority, dependsOn, status, notes, extra }) => ({
      id: asNumber(id),
      title,
      description,
      testStrategy: acceptance.join('\n'),
      priority: PRIORITIES[Math.min(priority ?? 9, PRIORITIES.length - 1)] ?? 'low',
      dependencies: dependsOn.map(asNumber),
      status: STATUSES[status],
      subtasks: [],
      ...(notes === '' ? {} : { notes }),
      ...extraOf(extra, ['details', 'subtasks']),
    }));
    return writeJson({ master: { tasks, metadata: { projectName: project, description } } });
  },
};

/** True if an item has keys that only this dialect uses. */
function isTask({ at }: StoryMember): boolean {
  return at.members.has('testStrategy') || at.members.get('subtasks')?.items[0]?.kind === 'object';
}

const PRIORITIES = ['critical', 'high', 'medium', 'low'];

const STATUSES: Record<StoryStatus, string> = {
  pending: 'pending',
  in_progress: 'in-progress',
  done: 'done',
  blocked: 'blocked',
  skipped: 'deferred',
};

function asNumber(id: string): string | number {
  return /^[1-9]\d{0,8}$/.test(id) ? Number(id) : id;
}
