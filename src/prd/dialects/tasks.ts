import type { Story, StoryStatus } from '../../core/prd/prd.ts';
import type { JsonDialect } from '../dialect.ts';
import { readJsonPrd } from '../json/read-json.ts';
import { writeJson, writeStory, writeWhole } from '../json/write-json.ts';

/** `{tasks: [{id, title, status}]}` and its variants. */
export const tasks: JsonDialect = {
  id: 'tasks',
  format: 'json',
  title: 'tasks (tasks)',
  doneWord: 'done',
  detects: ({ found }) => found?.kind === 'key' && found.key === 'tasks' && !found.wrapped,
  read: readJsonPrd,
  write: ({ stories, ...whole }) => writeJson({ ...writeWhole(whole), tasks: stories.map(writeTask) }),
};

/** Writes progress as one word. */
function writeTask(story: Story): Record<string, unknown> {
  return writeStory(story, { status: STATUSES[story.status] });
}

const STATUSES: Record<StoryStatus, string> = {
  pending: 'pending',
  in_progress: 'in_progress',
  done: 'done',
  blocked: 'blocked',
  skipped: 'deferred',
};
