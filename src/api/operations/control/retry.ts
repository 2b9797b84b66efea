import type { ControlResult } from '../../../core/run/control-result.ts';
import type { NewSettings } from '../../operations.ts';
import type { Operation } from '../operation.ts';
import { controlResultSchema, settingsSchema, storySchema } from '../schemas.ts';

type Input = Omit<NewSettings, 'remote'> & { runId: string; story: string | undefined };

export const retryOperation: Operation<Input, ControlResult> = {
  name: 'retry',
  method: 'POST',
  path: '/v1/runs/{runId}/retry',
  access: 'operate',
  summary: 'Retries failed and cancelled stories, or one story, with fresh attempts.',
  input: (z) => z.strictObject({ ...storySchema(z), ...settingsSchema(z) }),
  example: { story: 'US-001', set: ['limits.idle=20m'] },
  output: { kind: 'json', schema: controlResultSchema },
  async run(context, { runId, story, ...settings }) {
    const [{ openKeeper, openRequest }, { retryRun }] = await Promise.all([
      import('./control-request.ts'),
      import('../../../worker/control/control-run.ts'),
    ]);
    const request = await openRequest(context, runId, settings);
    const owned = await context.claim(request.runId);
    return { ...(await retryRun(openKeeper(context), request, story)), ...owned };
  },
};
