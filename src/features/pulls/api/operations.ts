import { operation } from '../../../api/operations/operation.ts';
import { confirmationSchema } from '../../../api/operations/schemas.ts';

export const pullOperations = {
  requestPull: operation({
    method: 'POST',
    path: '/v1/runs/{runId}/pull',
    access: 'operate',
    inspects: true,
    decides: true,
    summary:
      'Requests a pull request for what a run has landed, whatever its `land.mode` is: a worker pushes the branch and opens it. Returns the pull request if there is one already. If its push would publish a possible secret, `secret` must be in `confirm`.',
    input: (z) => z.strictObject(confirmationSchema(z)),
    example: { confirm: ['secret'] },
    output: {
      kind: 'json',
      schema: (z) =>
        z.object({
          runId: z.string(),
          changed: z.boolean().describe('False: the run has a pull request already.'),
          pull: z
            .object({ number: z.number().int(), url: z.string() })
            .optional()
            .describe('Absent: a worker opens it; `getRun` shows it, or why it could not be opened.'),
        }),
    },
    tool: {
      name: 'halo_pr',
      title: 'Open a pull request',
      when: 'Only if the user said so, also to a possible secret.',
      idempotent: true,
    },
    async run({ host, env, store, masker, by }, { runId, ...confirmation }) {
      const { requestPull } = await import('../worker/pull-requester.ts');
      return requestPull({ home: host.home, env, masker, store }, { runId: await store.find(runId), by, confirmation });
    },
  }),
};
