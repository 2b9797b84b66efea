import type { Operation } from './operation.ts';
import { requestedOptions } from './requested-options.ts';
import type { BatchEntry, IssuesRequest, SubmitOptions, Submitted } from './requests.ts';
import {
  EXAMPLE_PRD,
  MAX_RUNS_PER_SUBMIT,
  placeSchema,
  prdSchema,
  prioritySchema,
  submitOptions,
  submittedSchema,
  fromWirePrd,
  type WirePrd,
} from './schemas.ts';

type SubmitInput = SubmitOptions & { prd: WirePrd; repos: string[] };

export const submitOperation: Operation<SubmitInput, { runs: Submitted[] }> = {
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
    const { submitRuns } = await import('../submit/submit-runs.ts');
    return { runs: await submitRuns(context, request) };
  },
};

type BatchInput = SubmitOptions & { members: (Omit<BatchEntry, 'prd'> & { prd: WirePrd })[] };

export const submitBatchOperation: Operation<BatchInput, { runs: Submitted[] }> = {
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
    const { submitBatch } = await import('../submit/submit-runs.ts');
    return { runs: await submitBatch(context, request) };
  },
};

export const submitIssuesOperation: Operation<IssuesRequest, { runs: Submitted[] }> = {
  name: 'submitIssues',
  method: 'POST',
  path: '/v1/issue-runs',
  access: 'submit',
  inspects: true,
  summary: 'Creates a run whose stories are the open issues of a project with a label.',
  input: (z) =>
    z.strictObject({
      source: z
        .string()
        .min(1)
        .max(1000)
        .describe('`github:owner/repo`, `gitlab:group/project` or `gitea:owner/repo`.'),
      label: z.string().max(100).optional().describe('The label of the issues; default: `issues.label`.'),
      again: z.boolean().optional().describe('Include issues that a run works on or has landed.'),
      repo: placeSchema(z),
      ...submitOptions(z),
    }),
  example: {
    source: 'github:acme/shop',
    repo: 'https://git.example.com/shop.git',
    set: ['agent=codex'],
    allowDirty: false,
  },
  output: { kind: 'json', schema: submittedSchema, created: true },
  async run(context, { source, label, again, repo, ...options }) {
    const { submitIssues } = await import('../issues/submit-issue-run.ts');
    return {
      runs: await submitIssues(context, { ...(await requestedOptions(context, options)), source, label, again, repo }),
    };
  },
};
