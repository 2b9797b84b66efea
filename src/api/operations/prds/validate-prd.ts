import type { Prd } from '../../../core/prd/prd.ts';
import type { Operation } from '../operation.ts';
import { EXAMPLE_PRD, prdSchema } from '../schemas.ts';
import { fromWirePrd, type WirePrd } from '../wire-prd.ts';

interface Input {
  prd: WirePrd;
  /** The id of a dialect; undefined: detected from the content. */
  as?: string | undefined;
  /** Whether open stories without acceptance criteria are refused. */
  requireCriteria?: boolean | undefined;
}

export const validatePrdOperation: Operation<Input, { prd: Prd }> = {
  name: 'validatePrd',
  method: 'POST',
  path: '/v1/prds/validate',
  access: 'read',
  summary: 'Parses a PRD as a submit would, and returns its stories and warnings. Stores nothing.',
  input: (z) =>
    z.strictObject({
      prd: prdSchema(z),
      as: z
        .string()
        .optional()
        .describe(
          'Id of a dialect, whose tool has its rules checked as well; absent: detected, and only halo’s rules.',
        ),
      requireCriteria: z.boolean().optional().describe('True: refuse open stories without acceptance criteria.'),
    }),
  example: { prd: { path: 'prd.json', content: EXAMPLE_PRD } },
  output: {
    kind: 'json',
    schema: (z) =>
      z.object({
        prd: z.looseObject({
          dialect: z.string(),
          project: z.string(),
          stories: z.array(
            z.looseObject({
              id: z.string(),
              title: z.string(),
              acceptance: z.array(z.string()),
              priority: z.number().optional(),
              dependsOn: z.array(z.string()),
              status: z.enum(['pending', 'in_progress', 'done', 'blocked', 'skipped']),
            }),
          ),
          warnings: z.array(z.string()).describe('What was normalized or ignored, a sentence each.'),
        }),
      }),
  },
  async run(context, { prd, ...rules }) {
    const [{ validatePrd }, { readInTurn }] = await Promise.all([
      import('../../repository/prd-rules.ts'),
      import('../../access/read-in-turn.ts'),
    ]);
    return { prd: await readInTurn(context, () => validatePrd(fromWirePrd(prd), rules)) };
  },
};
