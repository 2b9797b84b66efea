import { HaloError } from '../core/failure/errors.ts';
import type { DialectId } from '../core/prd/prd.ts';
import { findNearest } from '../lib/text.ts';
import type { Dialect, PrdDocument } from './dialect.ts';
import { array } from './dialects/array.ts';
import { daedalus } from './dialects/daedalus.ts';
import { features } from './dialects/features.ts';
import { grouped } from './dialects/grouped.ts';
import { hank } from './dialects/hank.ts';
import { hanuman } from './dialects/hanuman.ts';
import { lever } from './dialects/lever.ts';
import { markdownCheckbox } from './dialects/markdown-checkbox.ts';
import { markdownNumbered } from './dialects/markdown-numbered.ts';
import { markdownStories } from './dialects/markdown-stories.ts';
import { ralph } from './dialects/ralph.ts';
import { stories } from './dialects/stories.ts';
import { swanson } from './dialects/swanson.ts';
import { taskmaster } from './dialects/taskmaster.ts';
import { tasks } from './dialects/tasks.ts';

/** Every dialect by its id, in the order in which they are tried: the more telling ones first. */
export const DIALECTS = {
  hanuman,
  lever,
  swanson,
  ralph,
  daedalus,
  taskmaster,
  grouped,
  array,
  stories,
  tasks,
  features,
  'markdown-stories': markdownStories,
  hank,
  'markdown-numbered': markdownNumbered,
  'markdown-checkbox': markdownCheckbox,
} as const satisfies Record<DialectId, Dialect>;

/** The dialect that a document is written in, by its content; undefined when it is none that halo knows. */
export function detectDialect(document: PrdDocument): Dialect | undefined {
  return Object.values<Dialect>(DIALECTS).find((dialect) => isWrittenIn(dialect, document));
}

/** Whether a document has the shape of a dialect. */
export function isWrittenIn(dialect: Dialect, document: PrdDocument): boolean {
  if (dialect.format === 'json') return document.format === 'json' && dialect.detects(document);
  return document.format === 'markdown' && dialect.detects(document);
}

/** The id of a dialect that a person named. Throws USAGE when there is none of that name. */
export function requireDialect(name: string): DialectId {
  if (Object.hasOwn(DIALECTS, name)) return name as DialectId;
  const known = Object.keys(DIALECTS);
  const meant = findNearest(name, known);
  throw new HaloError(
    'USAGE',
    `There is no dialect "${name}"${meant === undefined ? '' : `; did you mean "${meant}"?`}`,
    {
      hint: `Dialects: ${known.join(', ')}.`,
    },
  );
}
