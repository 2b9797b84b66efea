import type { JsonDialect, JsonDocument } from '../dialect.ts';
import { readJsonPrd } from '../json/read-json.ts';
import { writeJson, writeStory, writeWhole } from '../json/write-json.ts';

/** `{project, description, userStories: [{id, title, acceptanceCriteria, priority, passes}]}`. */
export const ralph: JsonDialect = {
  id: 'ralph',
  format: 'json',
  title: 'ralph (userStories)',
  doneWord: 'done',
  detects: hasUserStories,
  read: readJsonPrd,
  write: ({ stories, ...whole }) =>
    writeJson({ ...writeWhole(whole), userStories: stories.map((story) => writeStory(story)) }),
};

/** True if the stories are directly under `userStories`. */
export function hasUserStories({ found }: JsonDocument): boolean {
  return found?.kind === 'key' && found.key === 'userStories' && !found.wrapped;
}
