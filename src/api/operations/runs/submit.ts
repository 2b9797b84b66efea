import type { Submitted, SubmitOptions } from '../requests.ts';
import type { Operation } from '../operation.ts';
import {
  EXAMPLE_PRD,
  MAX_RUNS_PER_SUBMIT,
  placeSchema,
  prdSchema,
  submitOptions,
  submittedSchema,
} from '../schemas.ts';
import { requestedOptions } from '../requested-options.ts';
import { fromWirePrd, type WirePrd } from '../wire-prd.ts';

type Input = SubmitOptions & { prd: WirePrd; repos: string[] };

export const submitOperation: Operation<Input, { runs: Submitted[] }> = {
  name: 'submit',
  method: 'POST',
  path: '/v1/runs',
  access: 'submit',
  inspects: true,
  summary: 'Creates a run of a PRD for each repository. Either all runs are queued, or none.',
  input: (z) =>
    z.strictObject({
      prd: prdSchema(z),
      repos: z.array(placeSchema(z)).min(1).max(MAX_RUNS_PER_SUBMIT).describe('Paths on the server, or URLs.'),
      ...submitOptions(z),
    }),
  example: {
    prd: { path: 'prd.json', content: EXAMPLE_PRD },
    repos: ['https://git.example.com/shop.git'],
    set: ['agent=codex'],
    allowDirty: false,
  },
  output: { kind: 'json', schema: submittedSchema, created: true },
  async run(context, { prd, repos, ...options }) {
    const request = { ...(await requestedOptions(context, options)), repos, prd: fromWirePrd(prd) };
    const { submitRuns } = await import('../../submit/submit-runs.ts');
    return { runs: await submitRuns(context, request) };
  },
};
