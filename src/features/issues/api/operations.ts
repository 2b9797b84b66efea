import { operation } from '../../../api/operations/operation.ts';
import { submitOptions, submittedSchema } from '../../../api/operations/schemas.ts';
import { requestedOptions } from '../../../api/operations/submit.ts';
import { issuesFields, type IssuesRequest } from './issues-request.ts';

export const issueOperations = {
  submitIssues: operation({
    method: 'POST',
    path: '/v1/issue-runs',
    access: 'submit',
    submits: true,
    inspects: true,
    summary: 'Creates a run whose stories are the open issues of a project with a label.',
    input: (z) => z.strictObject({ ...issuesFields(z), ...submitOptions(z) }),
    example: {
      source: 'github:acme/shop',
      repo: 'https://git.example.com/shop.git',
      set: ['agent=codex'],
      allowDirty: false,
    },
    output: { kind: 'json', schema: submittedSchema, created: true },
    async run(context, { source, label, again, repo, ...options }: IssuesRequest) {
      const { submitIssues } = await import('./submit-issue-run.ts');
      const request = { ...(await requestedOptions(context, options)), source, label, again, repo };
      return { runs: await submitIssues(context, request) };
    },
  }),
};
