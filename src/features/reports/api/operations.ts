import { FAILURE_CLASSES } from '../../../core/failure/failure.ts';
import { AUDITED_TYPES } from '../core/audit-report.ts';
import { COST_GROUPS, groupCosts, parseCostGroups } from '../core/cost-report.ts';
import { groupErrors } from '../core/error-report.ts';
import { groupQuality, QUALITY_GROUPS } from '../core/quality-report.ts';
import type { RunCatalog } from '../../../store/run-catalog.ts';
import type { ReportScope } from './read-reports.ts';
import { operation, type Fields, type Zod } from '../../../api/operations/operation.ts';
import { unreadableSchema } from '../../../api/operations/schemas.ts';

const groupsSchema = (z: Zod) =>
  z
    .string()
    .refine((text) => parseCostGroups(text) !== undefined, `must be one or several of ${COST_GROUPS.join(', ')}`)
    .default('run')
    .describe(`One or several of ${COST_GROUPS.join(', ')}, separated by commas.`);

const costSums = (z: Zod) => ({
  runs: z.number().int(),
  attempts: z.number().int(),
  usage: usageSchema(z),
  lastDay: z.string().exactOptional().describe('The day (UTC) of the last use.'),
});

const qualitySums = (z: Zod) => ({
  stories: z.number().int().describe('Stories that passed or failed.'),
  landed: z.number().int(),
  firstPass: z.number().int().describe('Stories that passed with their first attempt.'),
  attempts: z.number().int(),
  landedMetered: z.number().int().describe('Passed stories whose costs are known, because their models have a price.'),
  costPerLanded: z
    .number()
    .exactOptional()
    .describe('The cost in USD of all stories whose costs are known, divided by `landedMetered`.'),
  minutesToLand: z.number().exactOptional().describe('The median, from the submission of the run.'),
});

const failedStorySchema = (z: Zod) =>
  z.object({
    runId: z.string(),
    project: z.string(),
    repo: z.string(),
    user: z.string().exactOptional(),
    story: z.string(),
    title: z.string(),
    attempt: z.number().int(),
    at: z.string(),
  });

/** Which journals a report reads, as a query. */
const scopeSchema = (z: Zod) => ({
  run: z.string().optional().describe('Only this run, by a unique part of its id.'),
  since: z.iso.datetime({ offset: true }).optional().describe('Only events at or after this time, ISO 8601.'),
});

/** Which runs and events a report reads. */
export type ReportQuery = Fields<typeof scopeSchema>;

const usageSchema = (z: Zod) =>
  z.looseObject({
    requests: z.number().int(),
    inputTokens: z.number().int(),
    cachedTokens: z.number().int(),
    outputTokens: z.number().int(),
    costUsd: z.number().optional(),
  });

/** Resolves the run and the time of a query. Throws RUN_NOT_FOUND. */
async function toReportScope(store: Pick<RunCatalog, 'find'>, { run, since }: ReportQuery): Promise<ReportScope> {
  return {
    runId: run === undefined ? undefined : await store.find(run),
    since: since === undefined ? undefined : new Date(since).toISOString(),
  };
}

export const reportOperations = {
  reportCosts: operation({
    method: 'GET',
    path: '/v1/reports/costs',
    access: 'read',
    summary:
      'Returns tokens and costs of all attempts, grouped by one or several of run, story, project, repository, user, agent, model and day (UTC).',
    input: (z) => z.strictObject({ by: groupsSchema(z), ...scopeSchema(z) }),
    example: { by: 'repo,day', since: '2030-01-01T00:00:00Z' },
    output: {
      kind: 'json',
      schema: (z) =>
        z.object({
          by: z.string(),
          rows: z.array(z.object({ key: z.string(), keys: z.array(z.string()), ...costSums(z) })),
          total: z.object(costSums(z)),
          unreadable: unreadableSchema(z),
        }),
    },
    async run({ store }, { by, ...query }) {
      const { readCosts } = await import('./read-reports.ts');
      const { entries, unreadable } = await readCosts(store, await toReportScope(store, query));
      return { ...groupCosts(entries, ...(parseCostGroups(by) ?? [])), unreadable };
    },
  }),
  reportQuality: operation({
    method: 'GET',
    path: '/v1/reports/quality',
    access: 'read',
    summary:
      'Returns how many stories passed, with how many attempts, at what cost and how fast, grouped by repository, user, agent, model or day (UTC) of the last attempt.',
    input: (z) => z.strictObject({ by: z.enum(QUALITY_GROUPS).default('repo'), ...scopeSchema(z) }),
    example: { by: 'agent', since: '2030-01-01T00:00:00Z' },
    output: {
      kind: 'json',
      schema: (z) =>
        z.object({
          by: z.enum(QUALITY_GROUPS),
          rows: z.array(z.object({ key: z.string(), ...qualitySums(z) })),
          total: z.object(qualitySums(z)),
          unreadable: unreadableSchema(z),
        }),
    },
    async run({ store }, { by, ...query }) {
      const { readResults } = await import('./read-reports.ts');
      const { entries, unreadable } = await readResults(store, await toReportScope(store, query));
      return { ...groupQuality(entries, by), unreadable };
    },
  }),
  reportBudgets: operation({
    method: 'GET',
    path: '/v1/reports/budgets',
    access: 'read',
    everywhere: true,
    summary:
      'Returns what is spent today (UTC) of the budgets that the configuration of the server sets for a day, each user and each repository, the fullest first.',
    input: (z) => z.strictObject({}),
    output: {
      kind: 'json',
      schema: (z) =>
        z.object({
          day: z.string(),
          budgets: z.array(
            z.object({
              scope: z.enum(['day', 'user', 'repository']),
              name: z.string().exactOptional().describe('The user or the repository.'),
              unit: z.enum(['usd', 'tokens']),
              limit: z.number(),
              spent: z.number(),
            }),
          ),
          unreadable: unreadableSchema(z),
        }),
    },
    async run(context) {
      const { readBudgetUses } = await import('./read-budget-uses.ts');
      return readBudgetUses(context, new Date());
    },
  }),
  reportErrors: operation({
    method: 'GET',
    path: '/v1/reports/errors',
    access: 'read',
    summary:
      'Returns the failures of all attempts, grouped by stop reason and error, the most frequent first. Commands of setup and gates that failed for an unknown reason are groups of their repository.',
    input: (z) =>
      z.strictObject({
        ...scopeSchema(z),
        class: z.enum(FAILURE_CLASSES).optional().describe('Only failures of this class.'),
      }),
    example: { since: '2030-01-01T00:00:00Z' },
    output: {
      kind: 'json',
      schema: (z) =>
        z.object({
          errors: z.array(
            z.object({
              signature: z
                .string()
                .describe('The error without numbers, ids and times; of failed tests the command and their names.'),
              tests: z.array(z.string()).exactOptional().describe('Names of failed tests, if the gate names them.'),
              stopReason: z.string(),
              class: z.string().optional(),
              count: z.number().int(),
              runs: z.array(z.string()).describe('The latest first.'),
              stories: z
                .array(failedStorySchema(z))
                .describe('Each story once, with its latest such attempt; the latest first.'),
              first: z.string(),
              last: z.string(),
              latest: z.object({ runId: z.string(), story: z.string(), attempt: z.number().int(), error: z.string() }),
            }),
          ),
          unreadable: unreadableSchema(z),
        }),
    },
    async run({ store }, { class: only, ...query }) {
      const { readFailures } = await import('./read-reports.ts');
      const { entries, unreadable } = await readFailures(store, await toReportScope(store, query));
      const wanted = only === undefined ? entries : entries.filter((failure) => failure.class === only);
      return { errors: groupErrors(wanted), unreadable };
    },
  }),
  reportAudit: operation({
    method: 'GET',
    path: '/v1/reports/audit',
    access: 'read',
    summary:
      'Returns what people decided, what landed and how stories and runs ended, over all runs, the latest first.',
    input: (z) =>
      z.strictObject({
        ...scopeSchema(z),
        type: z.enum(AUDITED_TYPES).optional().describe('Only events of this type of `halo audit`.'),
        by: z.string().optional().describe('Only what this user did.'),
        limit: z.coerce.number().int().min(1).max(10_000).default(100),
      }),
    example: { type: 'run.landed', limit: 20 },
    output: {
      kind: 'json',
      schema: (z) =>
        z.object({
          entries: z.array(
            z.object({
              at: z.string(),
              runId: z.string(),
              repo: z.string(),
              type: z.enum(AUDITED_TYPES),
              by: z.string().optional().describe('Absent if halo did it.'),
              story: z.string().optional(),
              commit: z.string().optional(),
              text: z.string(),
            }),
          ),
          unreadable: unreadableSchema(z),
        }),
    },
    async run({ store }, { type, by, limit, ...query }) {
      const { readAudit } = await import('./read-reports.ts');
      return readAudit(store, { ...(await toReportScope(store, query)), type, by, limit });
    },
  }),
};
