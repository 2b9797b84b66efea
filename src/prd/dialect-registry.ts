import { HaloError } from '../core/failure/errors.ts';
import { closeSentence } from '../core/text/did-you-mean.ts';
import type { Dialect, PrdDocument } from './dialect.ts';
import { array, features, grouped, ralph, stories, swanson, taskmaster, tasks } from './dialects/json-dialects.ts';
import { beads } from './dialects/beads.ts';
import { issues } from './dialects/issues.ts';
import { sprintStatus } from './dialects/sprint-status.ts';
import { daedalus } from './dialects/daedalus.ts';
import { hank, markdownCheckbox, markdownNumbered, markdownStories } from './dialects/markdown-dialects.ts';
import { cursorPlan, taskFile } from './dialects/front-matter-dialects.ts';
import { taskIndex } from './dialects/task-index.ts';
import { hanuman } from './dialects/hanuman.ts';
import { lever } from '../features/lever/prd/lever.ts';
import { linear } from './dialects/linear.ts';

/** All dialects by id, in detection order: the most specific ones first. */
export const DIALECTS = {
  hanuman,
  lever,
  swanson,
  ralph,
  daedalus,
  taskmaster,
  'sprint-status': sprintStatus,
  beads,
  issues,
  linear,
  grouped,
  array,
  stories,
  tasks,
  features,
  'cursor-plan': cursorPlan,
  'task-file': taskFile,
  'task-index': taskIndex,
  'markdown-stories': markdownStories,
  hank,
  'markdown-numbered': markdownNumbered,
  'markdown-checkbox': markdownCheckbox,
} as const satisfies Record<string, Dialect>;

/** The supported PRD dialects. */
export type DialectId = keyof typeof DIALECTS;

/** How the names of PRD files end, by format. */
const ENDINGS: Record<PrdDocument['format'], readonly string[]> = {
  json: ['.json', '.jsonl', '.yaml', '.yml'],
  markdown: ['.md', '.markdown'],
};

/** True for a path whose name ends like that of a PRD. Only such files are looked for in folders and checkouts. */
export function hasPrdEnding(path: string): boolean {
  return Object.values(ENDINGS).some((endings) => endings.some((ending) => path.toLowerCase().endsWith(ending)));
}

/** Detects the dialect of a document by its content; undefined if halo does not know it. */
export function detectDialect(document: PrdDocument): Dialect | undefined {
  return Object.values<Dialect>(DIALECTS).find((dialect) => matchesDialect(dialect, document));
}

/** True if a document has the shape of a dialect. */
export function matchesDialect(dialect: Dialect, document: PrdDocument): boolean {
  switch (dialect.format) {
    case 'json':
      return document.format === 'json' && dialect.detects(document);
    case 'markdown':
      return document.format === 'markdown' && dialect.detects(document);
  }
}

/** Parses a dialect id from user input. Throws USAGE for an unknown name. */
export function parseDialectId(name: string): DialectId {
  if (Object.hasOwn(DIALECTS, name)) return name as DialectId;
  const known = Object.keys(DIALECTS);
  throw new HaloError('USAGE', `There is no dialect "${name}"${closeSentence(name, known)}`, {
    hint: `Use one of: ${known.join(', ')}.`,
  });
}
