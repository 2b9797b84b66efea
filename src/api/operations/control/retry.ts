import type { ControlResult } from '../../../core/run/control-result.ts';
import type { RetrySettings } from '../requests.ts';
import type { Operation } from '../operation.ts';
import { controlResultSchema, settingsSchema, storySchema } from '../schemas.ts';

type Input = Omit<RetrySettings, 'request'> & { runId: string; story: string | undefined };

export const retryOperation: Operation<Input, ControlResult> = {
  name: 'retry',
  method: 'POST',
  path: '/v1/runs/{runId}/retry',
  access: 'control',
  inspects: true,
  summary: 'Retries the stories that failed, were cancelled or need a human, or one story, with new attempts.',
  input: (z) =>
    z.strictObject({
      ...storySchema(z),
      ...settingsSchema(z),
      newTests: z
        .boolean()
        .optional()
        .describe('Writes the tests of tests first again, instead of those that an earlier attempt has locked.'),
    }),
  example: { story: 'US-001', set: ['limits.idle=20m'] },
  output: { kind: 'json', schema: controlResultSchema },
  async run(context, { runId, story, newTests = false, ...settings }) {
    const [{ openKeeper, openRequest, withWarnings }, { retryRun }] = await Promise.all([
      import('./control-request.ts'),
      import('../../../worker/control/control-run.ts'),
    ]);
    const request = await openRequest(context, runId, settings);
    const owned = await context.claim(request.runId);
    const result = await retryRun(openKeeper(context), { ...request, newTests }, story);
    return { ...(await withWarnings(context, result)), ...owned };
  },
};
