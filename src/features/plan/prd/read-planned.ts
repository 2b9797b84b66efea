import * as z from 'zod';
import { HaloError } from '../../../core/failure/errors.ts';
import { hasHidden } from '../../../core/text/hidden-characters.ts';
import { safeLine } from '../../../core/text/safe-text.ts';

/** The most stories of one plan. */
const MAX_PLANNED = 200;

/** A story that an agent proposes. */
export interface PlannedStory {
  id: string;
  title: string;
  description: string;
  acceptance: string[];
  dependsOn: string[];
}

export interface PlannedPrd {
  project: string;
  stories: PlannedStory[];
}

const oneLine = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .regex(/^[^\r\n]*$/, 'has more than one line');

const id = z
  .string()
  .regex(
    /^(?:#\d{1,9}|[A-Za-z0-9][A-Za-z0-9._-]{0,63})$/,
    'is not an id of letters, digits, ".", "_" and "-", or of an issue, like #42',
  );

const planned = z.object({
  project: oneLine(200).nullish().catch(undefined),
  stories: z
    .array(
      z.object({
        id,
        title: oneLine(200),
        description: z.string().trim().max(4000),
        acceptance: z.array(oneLine(500)).min(1).max(20),
        dependsOn: z.array(id).max(50).default([]),
      }),
    )
    .min(1)
    .max(MAX_PLANNED),
});

/** Reads the stories in the answer of an agent, which is not trusted. Throws PRD_INVALID with the story and the rule. */
export function readPlanned(answer: unknown): PlannedPrd {
  const parsed = planned.safeParse(answer);
  if (!parsed.success) throw refused(describeIssue(parsed.error.issues[0]));
  const { project, stories } = parsed.data;
  for (const story of stories) {
    const texts = [story.title, story.description, ...story.acceptance];
    if (texts.some(hasHidden)) throw refused(`story ${story.id} contains hidden or control characters`);
  }
  const ids = stories.map((story) => story.id.toLowerCase());
  const twice = stories.find((_story, index) => ids.indexOf(ids[index] ?? '') !== index);
  if (twice !== undefined) throw refused(`two stories have the id ${twice.id}`);
  return { project: project === undefined || project === null || hasHidden(project) ? '' : project, stories };
}

function describeIssue(issue: z.core.$ZodIssue | undefined): string {
  const [list, index, ...field] = issue?.path ?? [];
  if (list !== 'stories' || typeof index !== 'number')
    return issue?.code === 'too_big' ? `it has more than ${MAX_PLANNED} stories` : 'it has no list of stories';
  const where = field.length === 0 ? '' : ` ${field.join('.')}`;
  return `story ${index + 1}${where}: ${safeLine(issue?.message ?? '', 200)}`;
}

function refused(why: string): HaloError {
  return new HaloError('PRD_INVALID', `The agent's plan is not valid: ${why}.`, {
    hint: 'Run `halo plan` again; the answer is in `result.json`, below artifacts/ of the run directory.',
  });
}
