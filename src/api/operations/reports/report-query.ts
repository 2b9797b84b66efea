import type { RunCatalog } from '../../../store/run-catalog.ts';
import type { ReportScope } from '../../reports/read-reports.ts';
import type { ReportQuery } from '../requests.ts';
import type { Zod } from '../operation.ts';

/** Which journals a report reads, as a query. */
export const scopeSchema = (z: Zod) => ({
  run: z.string().optional().describe('Only this run, by a unique part of its id.'),
  since: z.iso.datetime({ offset: true }).optional().describe('Only events at or after this time, ISO 8601.'),
});

/** Runs that are missing in the report. */
export const unreadableSchema = (z: Zod) =>
  z
    .array(z.object({ runId: z.string(), reason: z.string() }))
    .describe('Runs whose journal could not be read; the report lacks them.');

export const usageSchema = (z: Zod) =>
  z.looseObject({
    requests: z.number().int(),
    inputTokens: z.number().int(),
    cachedTokens: z.number().int(),
    outputTokens: z.number().int(),
    costUsd: z.number().optional(),
  });

/** Resolves the run and the time of a query. Throws RUN_NOT_FOUND. */
export async function toReportScope(
  store: Pick<RunCatalog, 'find'>,
  { run, since }: ReportQuery,
): Promise<ReportScope> {
  return {
    runId: run === undefined ? undefined : await store.find(run),
    since: since === undefined ? undefined : new Date(since).toISOString(),
  };
}
