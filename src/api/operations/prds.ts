import { operation, type Zod } from './operation.ts';
import { requestedOptions } from './submit.ts';
import { EXAMPLE_PRD, givenSettings, placeSchema, prdSchema, previewSchema, unreadableSchema } from './schemas.ts';

const storyAndSum = (z: Zod) => z.object({ story: percentiles(z), sum: percentiles(z) }).optional();

const percentiles = (z: Zod) =>
  z.object({ low: z.number(), median: z.number(), high: z.number() }).describe('The 10th, 50th and 90th percentile.');

export const prdOperations = {
  validatePrd: operation({
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
        import('../repository/prd-rules.ts'),
        import('../access/read-in-turn.ts'),
      ]);
      return { prd: await readInTurn(context, () => validatePrd(prd, rules)) };
    },
  }),
  estimatePrd: operation({
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
        import('../repository/prd-rules.ts'),
        import('../access/read-in-turn.ts'),
        import('../runs/read-samples.ts'),
        import('../../core/report/estimate.ts'),
        import('../../git/repository/repo-url.ts'),
      ]);
      const { isUrl, parseRemote } = repoUrl;
      const { store, assertMayUse } = context;
      const { stories } = await readInTurn(context, () => validatePrd(file, {}));
      const source = isUrl(repo) ? parseRemote(repo).address : repo;
      assertMayUse?.(source);
      const open = stories.filter(({ status }) => status === 'pending' || status === 'in_progress').length;
      const { entries, unreadable } = await readSamples(store, source);
      return { ...estimateStories(entries, { stories: open, agent, model }), unreadable };
    },
  }),
  previewPrompt: operation({
    method: 'POST',
    path: '/v1/prds/prompt',
    access: 'submit',
    inspects: true,
    summary: 'Returns the prompt of the first attempt at a story. Creates no run.',
    input: (z) =>
      z.strictObject({
        prd: prdSchema(z),
        repo: placeSchema(z),
        story: z.string().optional().describe('Id of a story; absent: the one that runs first.'),
        profile: z.string().optional().describe('`[profiles.<name>]` of the configuration.'),
        set: givenSettings(z).describe('Settings, as `key=value`; later ones win.'),
      }),
    example: {
      prd: { path: 'prd.json', content: EXAMPLE_PRD },
      repo: 'https://git.example.com/shop.git',
      story: 'US-001',
      set: ['prompt.max_tokens=15000'],
    },
    output: {
      kind: 'json',
      schema: previewSchema,
    },
    async run(context, { prd, repo, story, profile, set }) {
      const options = await requestedOptions(context, { profile, set, allowDirty: true });
      const { previewPrompt } = await import('../prompts/build-preview.ts');
      return previewPrompt(context, { ...options, prd, repo, story });
    },
  }),
};
