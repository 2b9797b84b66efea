import type { BudgetUse } from '../../../core/report/budget-report.ts';
import type { UnreadableRun } from '../../reports/read-reports.ts';
import type { Operation } from '../operation.ts';
import { unreadableSchema } from './report-query.ts';

interface Result {
  day: string;
  budgets: BudgetUse[];
  unreadable: UnreadableRun[];
}

export const reportBudgetsOperation: Operation<object, Result> = {
  name: 'reportBudgets',
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
    const { readBudgetUses } = await import('../../reports/read-budget-uses.ts');
    return readBudgetUses(context, new Date());
  },
};
