import type { IssuesRequest, Submitted } from '../requests.ts';
import type { Operation } from '../operation.ts';
import { requestedOptions } from '../requested-options.ts';
import { placeSchema, submitOptions, submittedSchema } from '../schemas.ts';

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
    const { submitIssues } = await import('../../issues/submit-issue-run.ts');
    return {
      runs: await submitIssues(context, { ...(await requestedOptions(context, options)), source, label, again, repo }),
    };
  },
};
