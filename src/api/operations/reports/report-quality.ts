import {
  groupQuality,
  QUALITY_GROUPS,
  type QualityGroup,
  type QualityReport,
} from '../../../core/report/quality-report.ts';
import type { UnreadableRun } from '../../reports/read-reports.ts';
import type { ReportQuery } from '../requests.ts';
import type { Operation, Zod } from '../operation.ts';
import { scopeSchema, unreadableSchema, toReportScope } from './report-query.ts';

interface Input extends ReportQuery {
  by: QualityGroup;
}

export const reportQualityOperation: Operation<Input, QualityReport & { unreadable: UnreadableRun[] }> = {
  name: 'reportQuality',
  method: 'GET',
  path: '/v1/reports/quality',
  access: 'read',
  summary:
    'Returns how many stories landed, with how many attempts, at what cost and how fast, grouped by repository, user, agent, model or day (UTC) of the last attempt.',
  input: (z) => z.strictObject({ by: z.enum(QUALITY_GROUPS).default('repo'), ...scopeSchema(z) }),
  example: { by: 'agent', since: '2030-01-01T00:00:00Z' },
  output: {
    kind: 'json',
    schema: (z) =>
      z.object({
        by: z.enum(QUALITY_GROUPS),
        rows: z.array(z.object({ key: z.string(), ...sums(z) })),
        total: z.object(sums(z)),
        unreadable: unreadableSchema(z),
      }),
  },
  async run({ store }, { by, ...query }) {
    const { readResults } = await import('../../reports/read-reports.ts');
    const { entries, unreadable } = await readResults(store, await toReportScope(store, query));
    return { ...groupQuality(entries, by), unreadable };
  },
};

const sums = (z: Zod) => ({
  stories: z.number().int().describe('Stories that landed or failed.'),
  landed: z.number().int(),
  firstPass: z.number().int().describe('Stories that landed with their first attempt.'),
  attempts: z.number().int(),
  landedMetered: z.number().int().describe('Landed stories whose costs are known, because their models have a price.'),
  costPerLanded: z
    .number()
    .exactOptional()
    .describe('The cost in USD of all stories whose costs are known, divided by `landedMetered`.'),
  minutesToLand: z.number().exactOptional().describe('The median, from the submission of the run.'),
});
