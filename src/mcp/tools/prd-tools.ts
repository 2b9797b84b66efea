import { missingWorker } from '../../view/waiting.ts';
import * as z from 'zod';
import { OPERATIONS } from '../../api/operations.ts';
import { submittedSchema } from '../../api/operations/schemas.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { JSON_EXAMPLE, MARKDOWN_EXAMPLE } from '../../core/prd/prd-examples.ts';
import type { PrdFile, Story } from '../../core/prd/prd.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { defined } from '../../lib/guards.ts';
import { listSome } from '../../lib/text.ts';
import { defineTool, fieldOf, outputOf } from '../tool.ts';
import { MAX_ENTRIES } from '../tool-result.ts';

/** The path of a PRD that was not read from a file. */
const NO_FILE = 'prd';

const prdFields = {
  prd: z
    .string()
    .min(1)
    .max(1_000_000)
    .describe(
      'The text of the PRD: JSON or Markdown, as halo_validate_prd describes it. A folder of task files is JSON: {"halo-folder": [{"name": "task-1.md", "text": "…"}]}.',
    ),
  path: z
    .string()
    .min(1)
    .max(4096)
    .optional()
    .describe(
      'The absolute path of the file with this text, or of the folder with these files, if there is one: halo then marks stories in it when they land.',
    ),
};

/** One line that is the path of a file: agents mistake the text for it. */
const PATH = /^(?:(?:~|\.{1,2})?\/.*|\S+\.(?:json|jsonl|ya?ml|md|markdown|txt))$/i;

/** Throws USAGE for a path in place of the text. */
function toPrdFile({ prd, path }: { prd: string; path?: string | undefined }): PrdFile {
  if (PATH.test(prd.trim()))
    throw new HaloError('USAGE', `The PRD is a path, ${safeLine(prd.trim(), 200)}, instead of the text of the file.`, {
      hint: 'Read the file, and pass its content as `prd` and its absolute path as `path`.',
    });
  return { path: path ?? NO_FILE, bytes: new TextEncoder().encode(prd) };
}

const validated = z.object({
  dialect: z.string().describe('How halo reads it.'),
  project: z.string(),
  stories: z.array(
    z.object({
      id: z.string(),
      title: z.string(),
      status: z.string(),
      criteria: z.number().int().describe('Number of acceptance criteria.'),
      dependsOn: z.array(z.string()),
    }),
  ),
  omittedStories: z.number().int(),
  warnings: z.array(z.string()).describe('What was normalized or ignored.'),
});

export const validateTool = defineTool({
  name: 'halo_validate_prd',
  title: 'Validate a PRD',
  description: `Reads a PRD as halo_submit would, and stores nothing. Call it first. An error names the line and the rule of each problem. A PRD is JSON, such as ${JSON_EXAMPLE}, or Markdown, such as ${JSON.stringify(MARKDOWN_EXAMPLE)}. Only id and title are needed, but give each small story criteria that a test can check.`,
  uses: [OPERATIONS.validatePrd],
  input: z.strictObject({ ...prdFields, as: fieldOf(OPERATIONS.validatePrd, 'as') }),
  output: validated,
  async run(operations, { as, ...file }) {
    const { dialect, project, stories, warnings } = (await operations.validatePrd({ prd: toPrdFile(file), as })).prd;
    return {
      dialect,
      project: safeLine(project),
      stories: stories.slice(0, MAX_ENTRIES).map(({ id, title, status, acceptance, dependsOn }) => ({
        id: safeLine(id, 100),
        title: safeLine(title),
        status,
        criteria: acceptance.length,
        dependsOn: dependsOn.slice(0, MAX_ENTRIES).map((each) => safeLine(each, 100)),
      })),
      omittedStories: Math.max(0, stories.length - MAX_ENTRIES),
      warnings: [...withoutCriteria(stories), ...warnings].slice(0, MAX_ENTRIES).map((text) => safeLine(text, 500)),
    };
  },
});

/** In every dialect: an agent that implements such a story decides alone what is done. */
function withoutCriteria(stories: readonly Story[]): string[] {
  const bare = stories.filter(({ acceptance, status }) => acceptance.length === 0 && status === 'pending');
  if (bare.length === 0) return [];
  return [
    `Without acceptance criteria, only the gates decide when these are done: ${listSome(
      bare.map(({ id }) => id),
      20,
    )}.`,
  ];
}

export const estimateTool = defineTool({
  name: 'halo_estimate',
  title: 'Estimate a PRD',
  description:
    'Estimates cost and time of the open stories of a PRD, with ranges (10th, 50th and 90th percentile), from earlier runs of the repository, and stores nothing. `costUsd` and `minutes` are absent if too few earlier stories are known; `notes` says so.',
  uses: [OPERATIONS.estimatePrd],
  input: z.strictObject({
    ...prdFields,
    repo: fieldOf(OPERATIONS.estimatePrd, 'repo'),
    agent: fieldOf(OPERATIONS.estimatePrd, 'agent'),
    model: fieldOf(OPERATIONS.estimatePrd, 'model'),
  }),
  output: outputOf(OPERATIONS.estimatePrd).omit({ unreadable: true }),
  async run(operations, { repo, agent, model, ...file }) {
    const { unreadable, ...estimate } = await operations.estimatePrd({
      prd: toPrdFile(file),
      repo,
      ...defined({ agent, model }),
    });
    const missing = unreadable.length === 0 ? [] : [`${unreadable.length} runs cannot be read and do not count.`];
    return { ...estimate, notes: [...estimate.notes, ...missing].map((text) => safeLine(text, 500)) };
  },
});

/** The runs of one call: an agent has no use for a thousand. */
const MAX_REPOS = 20;

export const submitTool = defineTool({
  name: 'halo_submit',
  title: 'Submit a PRD',
  description:
    'Creates a run of a PRD for each repository: all of them, or none. Name each repository by its absolute path or its URL. Then call halo_wait with the run id. Use `key` to be safe against repetition: a second submit with the same key returns the runs of the first.',
  uses: [OPERATIONS.submit, OPERATIONS.getRun],
  input: z.strictObject({
    ...prdFields,
    repos: z.array(z.string().min(1).max(4096)).min(1).max(MAX_REPOS).describe('Absolute paths, or URLs.'),
    set: z
      .array(z.string().max(4096))
      .max(50)
      .default([])
      .describe(
        'Settings of the runs, as `key=value`. They may be stricter than those of the owner and the repository, not looser; what weakens gates, opens the network or lands is refused.',
      ),
    allowDirty: z.boolean().default(false).describe('Accept uncommitted changes; they are not part of the run.'),
    profile: fieldOf(OPERATIONS.submit, 'profile'),
    priority: fieldOf(OPERATIONS.submit, 'priority'),
    after: fieldOf(OPERATIONS.submit, 'after'),
    key: fieldOf(OPERATIONS.submit, 'key'),
    stories: fieldOf(OPERATIONS.submit, 'stories'),
    dryRun: fieldOf(OPERATIONS.submit, 'dryRun'),
  }),
  output: z.object({
    runs: (submittedSchema(z) as z.ZodObject<{ runs: z.ZodArray<z.ZodObject> }>).shape.runs,
    workers: z.number().int().describe('Workers that would take the stories of the first run.'),
    next: z.string().describe('What to do next.'),
  }),
  async run(operations, { prd, path, repos, set, allowDirty, profile, ...more }) {
    const request = { prd: toPrdFile({ prd, path }), repos, set, allowDirty, profile, ...defined(more) };
    const runs = (await operations.submit(request)).runs;
    const first = runs[0]?.runId ?? '';
    const view = await operations.getRun({ runId: first });
    const { workers, draining = 0, engines } = view;
    const waiting = `Call halo_wait with runId "${first}".`;
    const advice =
      engines !== undefined
        ? `The user must act: ${missingWorker(view) ?? ''}.`
        : draining > 0
          ? 'All workers are draining: ask the user to resume one with `halo worker resume`, or to start another one.'
          : 'No worker is running: ask the user to start `halo up` or `halo worker`.';
    const next = workers > 0 ? waiting : `${advice} ${waiting}`;
    return { runs: runs.map((run) => ({ ...run, warnings: run.warnings.slice(0, MAX_ENTRIES) })), workers, next };
  },
});
