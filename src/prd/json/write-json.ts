import type { Story } from '../../core/prd/prd.ts';
import { canonicalKey } from './find-member.ts';
import type { PrdContent } from '../dialect.ts';
import {
  ABOUT_KEYS,
  ACCEPTANCE_KEYS,
  BOOLEAN_FLAG_KEYS,
  DEPENDENCY_KEYS,
  DESCRIPTION_KEYS,
  FLAG_KEYS,
  GROUP_KEYS,
  ID_KEYS,
  LIST_KEYS,
  PROJECT_KEYS,
  SKIP_KEYS,
  STARTED_KEYS,
  SINGLE_KEYS,
  STATUS_KEYS,
  TITLE_KEYS,
  USER_STORY_KEYS,
  WRAPPER_KEYS,
} from './field-aliases.ts';

/** A document as the text of a new file. */
export function writeJson(document: unknown): string {
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

/** What describes the whole, with what is said to all stories; what is said to some of them has no place. */
export function writeWhole({
  project,
  description,
  context = [],
}: Omit<PrdContent, 'stories'>): Record<string, string> {
  const fields = context.flatMap(({ label, text, stories }): [string, string][] => {
    return stories === undefined && !WHOLE_KEYS.has(canonicalKey(label)) ? [[label, text]] : [];
  });
  return { project, description, ...Object.fromEntries(fields) };
}

/** Keys of a document that have a meaning of their own. */
const WHOLE_KEYS = new Set([
  ...PROJECT_KEYS,
  ...ABOUT_KEYS,
  ...LIST_KEYS,
  ...GROUP_KEYS,
  ...WRAPPER_KEYS,
  'schemaVersion',
  'type',
  'master',
]);

/** A story in the most common spelling of its fields; what it does not have is left out. */
export function writeStory(story: Story, progress = writeProgress(story)): Record<string, unknown> {
  const { id, title, description, acceptance, priority, dependsOn, notes, extra } = story;
  return {
    id,
    title,
    description,
    acceptanceCriteria: acceptance,
    ...(priority === undefined ? {} : { priority }),
    ...(dependsOn.length === 0 ? {} : { dependsOn }),
    ...progress,
    ...(notes === '' ? {} : { notes }),
    ...extraOf(extra),
  };
}

/** The flag, and what else tells of a story that is neither done nor open. */
export function writeProgress({ status }: Pick<Story, 'status'>): Record<string, unknown> {
  switch (status) {
    case 'done':
      return { passes: true };
    case 'pending':
      return { passes: false };
    case 'in_progress':
      return { passes: false, inProgress: true };
    case 'skipped':
      return { passes: false, skip: true };
    case 'blocked':
      return { passes: false, status: 'blocked' };
  }
}

/** The fields that a story had besides, but for those that would be read as something else. */
export function extraOf(extra: Record<string, unknown>, besides: string[] = []): Record<string, unknown> {
  const taken = new Set([...READ_KEYS, ...besides]);
  return Object.fromEntries(Object.entries(extra).filter(([key]) => !taken.has(canonicalKey(key))));
}

/** Keys of a story that have a meaning of their own. */
const READ_KEYS = [
  ...ID_KEYS,
  ...TITLE_KEYS,
  ...DESCRIPTION_KEYS,
  ...ACCEPTANCE_KEYS,
  ...DEPENDENCY_KEYS,
  ...FLAG_KEYS,
  ...SKIP_KEYS,
  ...STARTED_KEYS,
  ...BOOLEAN_FLAG_KEYS,
  ...STATUS_KEYS,
  ...SINGLE_KEYS,
  ...USER_STORY_KEYS,
];
