import { FAILURE_CLASSES, type FailureClass } from '../../../core/failure/failure.ts';
import { groupErrors, type ErrorGroup } from '../../../core/report/error-report.ts';
import type { UnreadableRun } from '../../reports/read-reports.ts';
import type { ReportQuery } from '../requests.ts';
import type { Operation, Zod } from '../operation.ts';
import { scopeSchema, unreadableSchema, toReportScope } from './report-query.ts';

interface Input extends ReportQuery {
  class?: FailureClass | undefined;
}

export const reportErrorsOperation: Operation<Input, { errors: ErrorGroup[]; unreadable: UnreadableRun[] }> = {
  name: 'reportErrors',
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
              .array(storySchema(z))
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
    const { readFailures } = await import('../../reports/read-reports.ts');
    const { entries, unreadable } = await readFailures(store, await toReportScope(store, query));
    const wanted = only === undefined ? entries : entries.filter((failure) => failure.class === only);
    return { errors: groupErrors(wanted), unreadable };
  },
};

const storySchema = (z: Zod) =>
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
