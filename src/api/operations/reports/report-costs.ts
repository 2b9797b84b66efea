import { COST_GROUPS, groupCosts, parseCostGroups, type CostReport } from '../../../core/report/cost-report.ts';
import type { UnreadableRun } from '../../reports/read-reports.ts';
import type { ReportQuery } from '../requests.ts';
import type { Operation, Zod } from '../operation.ts';
import { scopeSchema, unreadableSchema, usageSchema, toReportScope } from './report-query.ts';

interface Input extends ReportQuery {
  by: string;
}

export const reportCostsOperation: Operation<Input, CostReport & { unreadable: UnreadableRun[] }> = {
  name: 'reportCosts',
  method: 'GET',
  path: '/v1/reports/costs',
  access: 'read',
  summary:
    'Returns tokens and costs of all attempts, grouped by one or several of run, story, repository, user, agent, model and day (UTC).',
  input: (z) => z.strictObject({ by: groupsSchema(z), ...scopeSchema(z) }),
  example: { by: 'repo,day', since: '2030-01-01T00:00:00Z' },
  output: {
    kind: 'json',
    schema: (z) =>
      z.object({
        by: z.string(),
        rows: z.array(z.object({ key: z.string(), keys: z.array(z.string()), ...sums(z) })),
        total: z.object(sums(z)),
        unreadable: unreadableSchema(z),
      }),
  },
  async run({ store }, { by, ...query }) {
    const { readCosts } = await import('../../reports/read-reports.ts');
    const { entries, unreadable } = await readCosts(store, await toReportScope(store, query));
    return { ...groupCosts(entries, ...(parseCostGroups(by) ?? [])), unreadable };
  },
};

const groupsSchema = (z: Zod) =>
  z
    .string()
    .refine((text) => parseCostGroups(text) !== undefined, `must be one or several of ${COST_GROUPS.join(', ')}`)
    .default('run')
    .describe(`One or several of ${COST_GROUPS.join(', ')}, separated by commas.`);

const sums = (z: Zod) => ({ runs: z.number().int(), attempts: z.number().int(), usage: usageSchema(z) });
