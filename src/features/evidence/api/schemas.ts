import type { Shape, Zod } from '../../../api/operations/operation.ts';

/** An attempt repeated from its cassette, compared with its record. */
export const replayedSchema = (z: Zod) =>
  z.object({
    story: z.string(),
    attempt: z.number().int(),
    image: z.string(),
    divergence: z.string().optional().describe('The first request of the agent that differed.'),
    checks: z.array(
      z.object({
        what: z.string(),
        recorded: z.string(),
        found: z.string(),
        ok: z.boolean().nullable().describe('null: informative only.'),
      }),
    ),
  });

export type Replayed = Shape<typeof replayedSchema>;
