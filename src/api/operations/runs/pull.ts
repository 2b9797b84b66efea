import type { RequestedPull } from '../../../core/pulls/pull-state.ts';
import type { Operation } from '../operation.ts';

export const requestPullOperation: Operation<{ runId: string }, RequestedPull> = {
  name: 'requestPull',
  method: 'POST',
  path: '/v1/runs/{runId}/pull',
  access: 'operate',
  inspects: true,
  decides: true,
  summary:
    'Requests a pull request for what a run has landed, whatever its `land.mode` is: a worker pushes the branch and opens it. Returns the pull request if there is one already.',
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
  async run({ host, env, store, masker, by }, input) {
    const { requestPull } = await import('../../../worker/pulls/request-pull.ts');
    return requestPull({ home: host.home, env, masker, store }, { runId: await store.find(input.runId), by });
  },
};
