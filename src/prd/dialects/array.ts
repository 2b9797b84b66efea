import type { JsonDialect } from '../dialect.ts';
import { readJsonPrd } from '../json/read-json.ts';
import { extraOf, writeJson, progressFields } from '../json/write-json.ts';
import { defined } from '../../lib/guards.ts';

/** `[{category, description, steps, passes}]`: no project, often without ids and titles. */
export const array: JsonDialect = {
  id: 'array',
  format: 'json',
  title: 'array (a list of stories at the top level)',
  doneWord: 'done',
  detects: ({ found }) => found?.kind === 'top',
  read: readJsonPrd,
  write: ({ stories }) =>
    writeJson(
      stories.map((story) => {
        const { id, title, description, acceptance, priority, dependsOn, notes, extra } = story;
        return {
          id,
          title,
          description,
          steps: acceptance,
          ...defined({ priority }),
          ...(dependsOn.length === 0 ? {} : { dependencies: dependsOn }),
          ...progressFields(story),
          ...(notes === '' ? {} : { notes }),
          ...extraOf(extra),
        };
      }),
    ),
};
