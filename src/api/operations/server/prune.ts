import { hasRetention } from '../../../core/retention/retention.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { parseDuration, parseSize } from '../../../lib/units.ts';
import type { PruneReport, PruneRequest } from '../../retention/retention-report.ts';
import type { Operation, Zod } from '../operation.ts';

const duration = (z: Zod) =>
  z.string().refine((text) => parseDuration(text) !== undefined, 'must be a duration, like "30d"');
const size = (z: Zod) => z.string().refine((text) => parseSize(text) !== undefined, 'must be a size, like "20g"');

export const pruneOperation: Operation<PruneRequest, PruneReport> = {
  name: 'prune',
  method: 'POST',
  path: '/v1/prune',
  access: 'administer',
  everywhere: true,
  summary:
    'Removes artifacts of ended runs, and whole runs, that `[keep]` does not keep, and what belongs to no run. Requests over the network may set limits only with `dryRun`.',
  input: (z) =>
    z.strictObject({
      dryRun: z.boolean().optional().describe('Only report what would be removed.'),
      artifacts: duration(z).optional().describe('Overrides `keep.artifacts`.'),
      runs: z.number().int().min(0).max(1_000_000).optional().describe('Overrides `keep.runs`.'),
      journals: duration(z).optional().describe('Overrides `keep.journals`.'),
      maxSize: size(z).optional().describe('Overrides `keep.max_size`.'),
    }),
  example: { dryRun: true, artifacts: '30d' },
  output: {
    kind: 'json',
    schema: (z) =>
      z.object({
        removed: z.array(
          z.object({
            runId: z
              .string()
              .nullable()
              .describe('Null for a mirror that no run uses, and for the cache of registries.'),
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
          .describe(
            'By how much the runs that must stay are larger than the maximum size, in bytes; 0 if they are not.',
          ),
        hasLimits: z.boolean().describe('Without limits, only what belongs to no run is removed.'),
      }),
  },
  async run({ host, store, by, remote }, request, signal) {
    const { toLimits, reportPrune } = await import('../../retention/retention-report.ts');
    const asked = toLimits(request);
    if (remote && !request.dryRun && hasRetention(asked)) {
      throw new HaloError('CONFIG_INVALID', 'Requests over the network cannot set what is removed.', {
        hint: 'Set `[keep]` in config.toml of the server, or run `halo prune` there.',
      });
    }
    return reportPrune({ home: host.home, store, by, signal }, request);
  },
};
