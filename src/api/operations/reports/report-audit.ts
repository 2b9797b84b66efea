import type { EventType } from '../../../core/journal/event-table.ts';
import { AUDITED_TYPES, type AuditEntry } from '../../../core/report/audit-report.ts';
import type { ReportOf } from '../../reports/read-reports.ts';
import type { ReportQuery } from '../requests.ts';
import type { Operation } from '../operation.ts';
import { scopeSchema, unreadableSchema, toReportScope } from './report-query.ts';

interface Input extends ReportQuery {
  type?: EventType | undefined;
  by?: string | undefined;
  limit: number;
}

export const reportAuditOperation: Operation<Input, ReportOf<AuditEntry>> = {
  name: 'reportAudit',
  method: 'GET',
  path: '/v1/reports/audit',
  access: 'read',
  summary: 'Returns what people decided, what landed and how stories and runs ended, over all runs, the latest first.',
  input: (z) =>
    z.strictObject({
      ...scopeSchema(z),
      type: z.enum(AUDITED_TYPES).optional().describe('Only events of this type.'),
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
    const { readAudit } = await import('../../reports/read-reports.ts');
    return readAudit(store, { ...(await toReportScope(store, query)), type, by, limit });
  },
};
