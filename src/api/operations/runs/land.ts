import type { LandedRun } from '../../../core/run/control-result.ts';
import type { Operation } from '../operation.ts';
import type { Confirmation } from '../../../core/review/flags.ts';
import { confirmationSchema, landedSchema } from '../schemas.ts';

export const landOperation: Operation<{ runId: string } & Confirmation, LandedRun> = {
  name: 'land',
  method: 'POST',
  path: '/v1/runs/{runId}/land',
  access: 'operate',
  decides: true,
  summary:
    'Fast-forwards the branch from which the run started, or pushes the branch of the run to a URL. What the run is flagged for must be in `confirm`.',
  input: (z) => z.strictObject(confirmationSchema(z)),
  example: { confirm: ['secret'] },
  output: { kind: 'json', schema: landedSchema },
  async run({ host, store, by }, { runId, ...confirmation }) {
    const { landRun } = await import('../../../worker/run/land-run.ts');
    return landRun(store, host.home, { runId: await store.find(runId), by, confirmation });
  },
};
