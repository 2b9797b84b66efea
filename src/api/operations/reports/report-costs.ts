import { COST_GROUPS, groupCosts, type CostGroup, type CostReport } from '../../../core/report/cost-report.ts';
import type { UnreadableRun } from '../../reports/read-reports.ts';
import type { ReportQuery } from '../requests.ts';
import type { Operation, Zod } from '../operation.ts';
import { scopeSchema, unreadableSchema, usageSchema, toReportScope } from './report-query.ts';

interface Input extends ReportQuery {
  by: CostGroup;
}

export const reportCostsOperation: Operation<Input, CostReport & { unreadable: UnreadableRun[] }> = {
  name: 'reportCosts',
  method: 'GET',
  path: '/v1/reports/costs',
  access: 'read',
  summary: 'Returns tokens and costs of all attempts, grouped by run, story, repository, user, model or day (UTC).',
  input: (z) => z.strictObject({ by: z.enum(COST_GROUPS).default('run'), ...scopeSchema(z) }),
  example: { by: 'repo', since: '2030-01-01T00:00:00Z' },
  output: {
    kind: 'json',
    schema: (z) =>
      z.object({
        by: z.enum(COST_GROUPS),
        rows: z.array(z.object({ key: z.string(), ...sums(z) })),
        total: z.object(sums(z)),
        unreadable: unreadableSchema(z),
      }),
  },
  async run({ store }, { by, ...query }) {
    const { readCosts } = await import('../../reports/read-reports.ts');
    const { entries, unreadable } = await readCosts(store, await toReportScope(store, query));
    return { ...groupCosts(entries, by), unreadable };
  },
};

const sums = (z: Zod) => ({ runs: z.number().int(), attempts: z.number().int(), usage: usageSchema(z) });
