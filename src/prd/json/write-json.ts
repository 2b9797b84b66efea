import type { Story } from '../../core/prd/prd.ts';
import { canonicalKey } from './object-reader.ts';
import type { PrdContent } from '../dialect.ts';
import { filledTexts, STORY_KEYS } from '../../core/prd/fields.ts';
import { ABOUT_KEYS, GROUP_KEYS, LIST_KEYS, PROJECT_KEYS, WRAPPER_KEYS } from './field-aliases.ts';
import { defined } from '../../lib/guards.ts';

/** Serialises a document as the text of a new file. */
export function writeJson(document: unknown): string {
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

/** The top-level fields: project, description and the context of all stories. Context of single stories is left out. */
export function writeWhole({ project, description, context }: Omit<PrdContent, 'stories'>): Record<string, string> {
  const fields = context.flatMap(({ label, text, stories }): [string, string][] => {
    return stories === undefined && !WHOLE_KEYS.has(canonicalKey(label)) ? [[label, text]] : [];
  });
  return { project, description, ...Object.fromEntries(fields) };
}

/** Top-level keys with a special meaning. */
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

/** A story with the most common field names; absent fields are left out. */
export function writeStory(story: Story, progress = progressFields(story)): Record<string, unknown> {
  const { id, title, description, acceptance, priority, dependsOn, extra } = story;
  return {
    id,
    title,
    description,
    acceptanceCriteria: acceptance,
    ...defined({ priority }),
    ...(dependsOn.length === 0 ? {} : { dependsOn }),
    ...progress,
    ...filledTexts(story),
    ...extraOf(extra),
    ...(acceptance.length === 0 ? {} : laterCriteria(extra)),
  };
}

/** Text fields that halo reads as criteria only if no earlier key has any, so they can be kept. */
function laterCriteria(extra: Record<string, unknown>): Record<string, unknown> {
  const isText = (value: unknown) =>
    typeof value === 'string' || (Array.isArray(value) && value.every((each) => typeof each === 'string'));
  return Object.fromEntries(
    Object.entries(extra).filter(([key, value]) => LATER_CRITERIA.has(canonicalKey(key)) && isText(value)),
  );
}

/** Keys with lower precedence than `acceptanceCriteria` that do not indicate another dialect. */
const LATER_CRITERIA = new Set(['criteria', 'steps', 'verification', 'testSteps', 'definition_of_done', 'tests']);

/** The flag, and a second field for stories that are neither done nor pending. */
export function progressFields({ status }: Pick<Story, 'status'>): Record<string, unknown> {
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

/** The extra fields of a story without those that would be read with another meaning. */
export function extraOf(extra: Record<string, unknown>, others: string[] = []): Record<string, unknown> {
  const taken = new Set([...STORY_KEYS, ...others]);
  return Object.fromEntries(Object.entries(extra).filter(([key]) => !taken.has(canonicalKey(key))));
}
