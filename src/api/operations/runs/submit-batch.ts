import type { BatchEntry, Submitted, SubmitOptions } from '../requests.ts';
import type { Operation } from '../operation.ts';
import { requestedOptions } from '../requested-options.ts';
import {
  EXAMPLE_PRD,
  MAX_RUNS_PER_SUBMIT,
  placeSchema,
  prdSchema,
  prioritySchema,
  submitOptions,
  submittedSchema,
} from '../schemas.ts';
import { fromWirePrd, type WirePrd } from '../wire-prd.ts';

type Input = SubmitOptions & { members: (Omit<BatchEntry, 'prd'> & { prd: WirePrd })[] };

export const submitBatchOperation: Operation<Input, { runs: Submitted[] }> = {
  name: 'submitBatch',
  method: 'POST',
  path: '/v1/batches',
  access: 'submit',
  inspects: true,
  summary: 'Creates the runs of a batch, each with its own PRD, in the order in which they run.',
  input: (z) => {
    const member = z.strictObject({
      name: z.string().min(1).describe('Unique in the batch.'),
      repo: placeSchema(z),
      prd: prdSchema(z),
      deps: z.array(z.string()).describe('Names of members whose runs must end with SUCCESS first.'),
      priority: prioritySchema(z),
    });
    return z.strictObject({ members: z.array(member).min(1).max(MAX_RUNS_PER_SUBMIT), ...submitOptions(z) });
  },
  example: {
    members: [
      {
        name: 'shop',
        repo: 'https://git.example.com/shop.git',
        prd: { path: 'shop.json', content: EXAMPLE_PRD },
        deps: [],
      },
    ],
    set: [],
    allowDirty: false,
  },
  output: { kind: 'json', schema: submittedSchema, created: true },
  async run(context, { members, ...options }) {
    const entries = members.map(({ prd, ...member }) => ({ ...member, prd: fromWirePrd(prd) }));
    const request = { ...(await requestedOptions(context, options)), members: entries };
    const { submitBatch } = await import('../../submit/submit-runs.ts');
    return { runs: await submitBatch(context, request) };
  },
};
