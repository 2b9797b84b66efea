import type { BreakerView } from '../requests.ts';
import type { Operation } from '../operation.ts';

export const listBreakersOperation: Operation<{ shared?: true | undefined }, { breakers: BreakerView[] }> = {
  name: 'listBreakers',
  method: 'GET',
  path: '/v1/breakers',
  access: 'read',
  summary: 'Lists the circuit breakers that are not closed.',
  input: (z) =>
    z.strictObject({
      shared: z
        .union([z.literal(true), z.literal('true')])
        .transform(() => true as const)
        .optional()
        .describe('Only those of repositories and providers, not those of single runs: faster.'),
    }),
  output: {
    kind: 'json',
    schema: (z) => {
      const breaker = z.object({
        key: z.string().describe('`run:<runId>`, `repository:<mirror>` or `provider:<host>`.'),
        status: z.enum(['open', 'half-open']),
        reason: z.string(),
        until: z.string().nullable().describe('When one story may try, in ISO 8601; null: only a reset closes it.'),
      });
      return z.object({ breakers: z.array(breaker) });
    },
  },
  async run(context, { shared = false }) {
    const { listBreakers } = await import('../../runs/breakers.ts');
    return { breakers: await listBreakers(context, { shared }) };
  },
};
