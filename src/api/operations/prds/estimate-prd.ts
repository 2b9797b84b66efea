import type { PrdEstimate } from '../../../core/report/estimate.ts';
import type { UnreadableRun } from '../../reports/read-reports.ts';
import type { Operation, Zod } from '../operation.ts';
import { unreadableSchema } from '../reports/report-query.ts';
import type { EstimateRequest } from '../requests.ts';
import { EXAMPLE_PRD, placeSchema, prdSchema } from '../schemas.ts';
import { fromWirePrd, type WirePrd } from '../wire-prd.ts';

type Input = Omit<EstimateRequest, 'prd'> & { prd: WirePrd };

export const estimatePrdOperation: Operation<Input, PrdEstimate & { unreadable: UnreadableRun[] }> = {
  name: 'estimatePrd',
  method: 'POST',
  path: '/v1/prds/estimate',
  access: 'read',
  summary:
    'Estimates cost and time of the open stories of a PRD, with ranges, from the newest ended runs of the repository. Stores nothing.',
  input: (z) =>
    z.strictObject({
      prd: prdSchema(z),
      repo: placeSchema(z),
      agent: z.string().optional().describe('If enough stories were run with this agent, only those count.'),
      model: z.string().optional().describe('With `agent`: the same for its model.'),
    }),
  example: {
    prd: { path: 'prd.json', content: EXAMPLE_PRD },
    repo: 'https://git.example.com/shop.git',
    agent: 'codex',
  },
  output: {
    kind: 'json',
    schema: (z) =>
      z.object({
        stories: z.number().int().describe('Open stories of the PRD.'),
        basis: z
          .object({
            stories: z.number().int(),
            landed: z.number().int(),
            runs: z.number().int(),
            agent: z.string().optional(),
            model: z.string().optional(),
          })
          .describe('The earlier stories that count; `agent` and `model`: only those that were run with them.'),
        costUsd: storyAndSum(z).describe('Absent if the cost of fewer than three earlier stories is known.'),
        minutes: storyAndSum(z).describe(
          'Time of the attempts, as if they ran one after the other; absent with fewer than three earlier stories.',
        ),
        notes: z.array(z.string()).describe('What limits the estimate, a sentence each.'),
        unreadable: unreadableSchema(z),
      }),
  },
  async run(context, { prd: file, repo, agent, model }) {
    const [{ validatePrd }, { readInTurn }, { readSamples }, { estimateStories }, repoUrl] = await Promise.all([
      import('../../repository/prd-rules.ts'),
      import('../../access/read-in-turn.ts'),
      import('../../reports/read-samples.ts'),
      import('../../../core/report/estimate.ts'),
      import('../../../git/repository/repo-url.ts'),
    ]);
    const { isUrl, parseRemote } = repoUrl;
    const { store, assertMayUse } = context;
    const { stories } = await readInTurn(context, () => validatePrd(fromWirePrd(file), {}));
    const source = isUrl(repo) ? parseRemote(repo).address : repo;
    assertMayUse?.(source);
    const open = stories.filter(({ status }) => status === 'pending' || status === 'in_progress').length;
    const { entries, unreadable } = await readSamples(store, source);
    return { ...estimateStories(entries, { stories: open, agent, model }), unreadable };
  },
};

const storyAndSum = (z: Zod) => z.object({ story: percentiles(z), sum: percentiles(z) }).optional();

const percentiles = (z: Zod) =>
  z.object({ low: z.number(), median: z.number(), high: z.number() }).describe('The 10th, 50th and 90th percentile.');
