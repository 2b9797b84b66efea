import { operation } from '../../../api/operations/operation.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { hasRetention } from '../core/retention.ts';
import { pruneFields, pruneReportSchema } from './prune-schemas.ts';

export const retentionOperations = {
  prune: operation({
    method: 'POST',
    path: '/v1/prune',
    access: 'administer',
    everywhere: true,
    summary:
      'Removes artifacts of ended runs, and whole runs, that `[keep]` does not keep, and what belongs to no run. Requests over the network may set limits only with `dryRun`.',
    input: (z) => z.strictObject(pruneFields(z)),
    example: { dryRun: true, artifacts: '30d' },
    output: {
      kind: 'json',
      schema: pruneReportSchema,
    },
    async run({ host, store, by, remote }, request, signal) {
      const { toLimits, reportPrune } = await import('./retention-report.ts');
      const asked = toLimits(request);
      if (remote && !request.dryRun && hasRetention(asked)) {
        throw new HaloError('CONFIG_INVALID', 'Requests over the network cannot set what is removed.', {
          hint: 'Set `[keep]` in config.toml of the server, or run `halo prune` there.',
        });
      }
      return reportPrune({ home: host.home, store, by, signal }, request);
    },
  }),
};
