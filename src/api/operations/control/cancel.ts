import type { ControlResult } from '../../../core/run/control-result.ts';
import type { Operation } from '../operation.ts';
import { controlResultSchema, storySchema } from '../schemas.ts';

export const cancelOperation: Operation<{ runId: string; story: string | undefined }, ControlResult> = {
  name: 'cancel',
  method: 'POST',
  path: '/v1/runs/{runId}/cancel',
  access: 'control',
  decides: true,
  summary: 'Cancels a run, or one of its stories. Nothing of it lands afterwards.',
  input: (z) => z.strictObject(storySchema(z)),
  example: { story: 'US-001' },
  output: { kind: 'json', schema: controlResultSchema },
  async run(context, { runId, story }) {
    const [{ openKeeper, openRequest }, { cancelRun, cancelStory }] = await Promise.all([
      import('./control-request.ts'),
      import('../../../worker/control/control-run.ts'),
    ]);
    const request = await openRequest(context, runId);
    return story === undefined
      ? cancelRun(openKeeper(context), request)
      : cancelStory(openKeeper(context), request, story);
  },
};
