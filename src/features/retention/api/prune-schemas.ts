import type { Fields, Shape, Zod } from '../../../api/operations/operation.ts';
import { parseDuration, parseSize } from '../../../lib/units.ts';

const duration = (z: Zod) =>
  z.string().refine((text) => parseDuration(text) !== undefined, 'must be a duration, like "30d"');

const size = (z: Zod) => z.string().refine((text) => parseSize(text) !== undefined, 'must be a size, like "20g"');

/** Which limits of retention a prune replaces. */
export const pruneFields = (z: Zod) => ({
  dryRun: z.boolean().optional().describe('Only report what would be removed.'),
  artifacts: duration(z).optional().describe('Overrides `keep.artifacts`.'),
  runs: z.number().int().min(0).max(1_000_000).optional().describe('Overrides `keep.runs`.'),
  journals: duration(z).optional().describe('Overrides `keep.journals`.'),
  maxSize: size(z).optional().describe('Overrides `keep.max_size`.'),
});

export type PruneRequest = Fields<typeof pruneFields>;

export const pruneReportSchema = (z: Zod) =>
  z.object({
    removed: z.array(
      z.object({
        runId: z.string().nullable().describe('Null for a mirror that no run uses, and for the cache of registries.'),
        mirror: z.string().nullable(),
        what: z.enum(['artifacts', 'run', 'mirror', 'cache']),
        bytes: z.number(),
        why: z.string(),
      }),
    ),
    bytes: z.number().describe('The sizes of all of them.'),
    heldBack: z
      .array(z.object({ runId: z.string(), why: z.string() }))
      .describe('Ended runs that stay whatever the limits are.'),
    failed: z
      .array(z.object({ runId: z.string().nullable(), mirror: z.string().nullable(), error: z.string() }))
      .describe('Runs that cannot be read or removed, and mirrors that cannot be removed.'),
    excessBytes: z
      .number()
      .describe('By how much the runs that must stay are larger than the maximum size, in bytes; 0 if they are not.'),
    hasLimits: z.boolean().describe('Without limits, only what belongs to no run is removed.'),
  });

export type PruneReport = Shape<typeof pruneReportSchema>;
