import type { JsonDialect } from '../dialect.ts';
import { readJsonPrd } from '../json/read-json.ts';
import { writeJson, writeStory, writeWhole } from '../json/write-json.ts';

/** `{stories: [{id, title, acceptance_criteria, dependencies, passes}]}`, or `stories` as a map by id. */
export const stories: JsonDialect = {
  id: 'stories',
  format: 'json',
  title: 'stories (stories or user_stories)',
  doneWord: 'done',
  detects: ({ found }) => found?.kind === 'key' && !found.wrapped && ['stories', 'user_stories'].includes(found.key),
  read: readJsonPrd,
  write: ({ stories, ...whole }) =>
    writeJson({ ...writeWhole(whole), stories: stories.map((story) => writeStory(story)) }),
};
