import type { ListedRuns, ListQuery } from '../../runs/limited-runs.ts';
import type { Operation, Zod } from '../operation.ts';
import { runStateSchema } from '../schemas.ts';

const count = (z: Zod) => z.coerce.number().int().min(0).max(1_000_000).optional();

const text = (z: Zod) => z.string().min(1).max(4_096).optional();

export const listRunsOperation: Operation<ListQuery, ListedRuns> = {
  name: 'listRuns',
  method: 'GET',
  path: '/v1/runs',
  access: 'read',
  summary: 'Returns the states of runs, newest first.',
  input: (z) =>
    z.strictObject({
      open: count(z).describe(
        'At most this many runs that have not ended: the newest that have started, then others. Default: all.',
      ),
      ended: count(z).describe('At most this many runs that have ended, the newest. Default: all.'),
      newest: count(z).describe('At most this many runs, the newest, open or not.'),
      before: z
        .string()
        .regex(/^[a-z0-9]{1,32}$/)
        .optional()
        .describe('Only runs that are older than this one, by id: `next` of the page before.'),
      since: z.iso
        .datetime({ offset: true })
        .optional()
        .describe('Only runs that were submitted at or after this time.'),
      repo: text(z).describe('Only runs of this repository: its path or address, or the last part of it.'),
      user: text(z).describe('Only runs of this user.'),
      prd: text(z).describe('Only runs of the PRD file with this path.'),
      batch: z
        .string()
        .max(64)
        .optional()
        .describe('Only runs of batches whose id contains this; empty: of any batch.'),
      state: text(z).describe(
        'Only runs that have ended like this: a stop reason, `ended`, `failed`, `landed`, `approved`, `rejected` or `waiting for approval`.',
      ),
    }),
  example: { open: 50, ended: 20 },
  output: {
    kind: 'json',
    schema: (z) =>
      z.object({
        runs: z.array(runStateSchema(z)),
        omitted: z
          .object({ open: z.number().int(), ended: z.number().int() })
          .optional()
          .describe('Numbers of runs that the query left out.'),
        next: z.string().optional().describe('`before` of the next page; absent if `newest` left no run out.'),
        unreadable: z
          .array(z.object({ runId: z.string(), reason: z.string() }))
          .optional()
          .describe('Runs whose journal could not be read; absent if there are none.'),
      }),
  },
  run: ({ limitedRuns }, { since, ...query }) =>
    limitedRuns.list({ ...query, ...(since !== undefined && { since: new Date(since).toISOString() }) }),
};
