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
    const { resetBreaker } = await import('../../runs/breakers.ts');
    return { key: await resetBreaker(context, key) };
  },
};
