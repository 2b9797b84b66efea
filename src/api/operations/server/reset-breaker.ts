import { ignore } from '../../../lib/async.ts';
import type { Operation } from '../operation.ts';

export const resetBreakerOperation: Operation<{ key: string }, { key: string }> = {
  name: 'resetBreaker',
  method: 'POST',
  path: '/v1/breakers/reset',
  access: 'operate',
  summary: 'Closes a circuit breaker, by its key, its repository or its run, and returns its full key.',
  input: (z) => z.strictObject({ key: z.string().min(1) }),
  example: { key: 'provider:api.openai.com' },
  output: { kind: 'json', schema: (z) => z.object({ key: z.string() }) },
  async run(context, { key }) {
    const [{ resetBreaker }, { openKeeper }, { continueRun }] = await Promise.all([
      import('../../runs/breakers.ts'),
      import('../control/control-request.ts'),
      import('../../../worker/run/continue-run.ts'),
    ]);
    const { store, breakers, caller, openQueue } = context;
    // Without a queue, workers find the runs when they compare the journals with it.
    const proceed = (runId: string) => continueRun(openKeeper(context), { runId, openQueue }).catch(ignore);
    return { key: await resetBreaker({ store, breakers, caller, proceed }, key) };
  },
};
