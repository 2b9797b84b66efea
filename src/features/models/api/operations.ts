import { operation } from '../../../api/operations/operation.ts';
import { modelsSchema, type ModelsView } from './schemas.ts';

export const modelOperations = {
  listModels: operation({
    method: 'GET',
    path: '/v1/models',
    access: 'operate',
    everywhere: true,
    endsWithRequest: true,
    summary:
      'The models that the configured keys reach, with their prices, and the agents that can use them. Asks each provider.',
    input: (z) =>
      z.strictObject({
        all: z.stringbool().optional().describe('Also known models of providers without a key.'),
      }),
    example: { all: 'true' },
    output: { kind: 'json', schema: modelsSchema },
    async run({ host }, { all = false }, signal): Promise<ModelsView> {
      const { viewModels } = await import('./view-models.ts');
      return viewModels(host, { all, signal });
    },
  }),
};
