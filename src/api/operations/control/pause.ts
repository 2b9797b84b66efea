import type { ControlResult } from '../../../core/run/control-result.ts';
import type { Operation } from '../operation.ts';
import { controlResultSchema } from '../schemas.ts';

export const pauseOperation: Operation<{ runId: string; now: boolean }, ControlResult> = {
  name: 'pause',
  method: 'POST',
  path: '/v1/runs/{runId}/pause',
  access: 'control',
  summary: 'Starts no more stories; with `now`, also interrupts running ones, without using up an attempt.',
  input: (z) => z.strictObject({ now: z.boolean() }),
  example: { now: false },
  output: { kind: 'json', schema: controlResultSchema },
  async run(context, { runId, now }) {
    const [{ openKeeper, openRequest }, { pauseRun }] = await Promise.all([
      import('./control-request.ts'),
      import('../../../worker/control/control-run.ts'),
    ]);
    return pauseRun(openKeeper(context), await openRequest(context, runId), now);
  },
};
