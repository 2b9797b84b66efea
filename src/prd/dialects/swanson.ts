import type { JsonDialect } from '../dialect.ts';
import { readJsonPrd } from '../json/read-json.ts';
import { writeJson, writeStory } from '../json/write-json.ts';
import { hasUserStories } from './ralph.ts';

/** `{type, name, description, userStories: [{…, complexity}]}`. */
export const swanson: JsonDialect = {
  id: 'swanson',
  format: 'json',
  title: 'swanson (type, name and userStories)',
  doneWord: 'done',
  detects: (document) =>
    hasUserStories(document) && ['type', 'name'].every((key) => document.json.members.get(key)?.kind === 'string'),
  read: readJsonPrd,
  write: ({ project, description, stories }) =>
    writeJson({
      type: 'feature',
      name: project,
      description,
      userStories: stories.map((story) => {
        const { passes, ...rest } = writeStory(story);
        return { complexity: 'simple', ...rest, passes };
      }),
    }),
};
