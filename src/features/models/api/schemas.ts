import type { Shape, Zod } from '../../../api/operations/operation.ts';

const priceSchema = (z: Zod) => {
  const price = { input: z.number(), cached: z.number(), cacheWrite: z.number(), output: z.number() };
  return z.object({
    ...price,
    long: z
      .object({ above: z.number().int(), ...price })
      .exactOptional()
      .describe('Prices of requests with more input tokens than `above`.'),
  });
};

export const modelsSchema = (z: Zod) =>
  z.object({
    prices: z.object({ source: z.string(), date: z.string().describe('The day of the prices.') }),
    providers: z.array(
      z.object({
        api: z.enum(['openai', 'anthropic', 'google']),
        baseUrl: z.string(),
        state: z.enum(['reached', 'no-key', 'failed']).describe('`no-key`: this server has no key for it.'),
        why: z.string().optional().describe('Why it could not be reached.'),
      }),
    ),
    models: z.array(
      z.object({
        api: z.enum(['openai', 'anthropic', 'google']),
        name: z.string(),
        context: z.number().int().optional().describe('Its context window, in tokens.'),
        price: priceSchema(z).optional().describe('USD per million tokens. Absent: unknown.'),
        ownPrice: z.literal(true).optional().describe('The price is one of `[prices]`.'),
        agents: z.array(z.string()),
        preset: z.literal(true).optional().describe('Runs use it unless they name another one.'),
      }),
    ),
  });

export type ModelsView = Shape<typeof modelsSchema>;
