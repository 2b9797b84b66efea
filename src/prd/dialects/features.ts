import type { JsonDialect } from '../dialect.ts';
import { readJsonPrd } from '../json/read-json.ts';
import { writeJson, writeStory, writeWhole } from '../json/write-json.ts';

const KEYS = ['features', 'items', 'steps', 'issues', 'backlog', 'todos'];

/** `{features: [{id, title, steps, passes}]}`, or the same under `items`, `steps` or similar keys. */
export const features: JsonDialect = {
  id: 'features',
  format: 'json',
  title: `features (${KEYS.join(', ')})`,
  doneWord: 'done',
  detects: ({ found }) => found?.kind === 'key' && !found.wrapped && KEYS.includes(found.key),
  read: readJsonPrd,
  write: ({ stories, ...whole }) =>
    writeJson({ ...writeWhole(whole), features: stories.map((story) => writeStory(story)) }),
};
