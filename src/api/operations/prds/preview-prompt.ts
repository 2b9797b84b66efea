import type { PreviewedPrompt, PromptRequest } from '../requests.ts';
import type { Operation } from '../operation.ts';
import { requestedOptions } from '../requested-options.ts';
import { EXAMPLE_PRD, givenSettings, placeSchema, prdSchema } from '../schemas.ts';
import { fromWirePrd, type WirePrd } from '../wire-prd.ts';

type Input = Omit<PromptRequest, 'prd'> & { prd: WirePrd };

export const previewPromptOperation: Operation<Input, PreviewedPrompt> = {
  name: 'previewPrompt',
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
    schema: (z) =>
      z.object({
        story: z.string(),
        agent: z.string(),
        commit: z.string(),
        text: z.string().describe('The prompt.'),
        tokens: z.number().int().describe('An estimate: four bytes each.'),
        testsFirst: z
          .enum(['report', 'on'])
          .optional()
          .describe('The prompt is the one for the tests that are written first.'),
        maxTokens: z.number().int().describe('0: no limit.'),
        fits: z.boolean().describe('False if the parts that are never cut are longer than the limit.'),
        sections: z.array(
          z.object({
            name: z.string(),
            file: z.string().optional(),
            tokens: z.number().int(),
            cut: z.number().int().optional().describe('Tokens that are not in the prompt.'),
          }),
        ),
        problems: z.array(z.string()).describe('Why a submit would refuse files of `[prompt]`, a sentence each.'),
        warnings: z.array(z.string()),
      }),
  },
  async run(context, { prd, repo, story, profile, set }) {
    const options = await requestedOptions(context, { profile, set, allowDirty: true });
    const { previewPrompt } = await import('../../prompts/build-preview.ts');
    return previewPrompt(context, { ...options, prd: fromWirePrd(prd), repo, story });
  },
};
