import type { Operation } from '../operation.ts';

export const readDiffOperation: Operation<
  { runId: string; story: string | undefined; since?: number | undefined },
  Buffer
> = {
  name: 'readDiff',
  method: 'GET',
  path: '/v1/runs/{runId}/diff',
  access: 'read',
  summary:
    'Returns a unified diff of what a run or one of its stories landed, or of what an approval would land; for a story that has not landed, of its last attempt.',
  input: (z) =>
    z.strictObject({
      story: z.string().optional(),
      since: z.coerce
        .number()
        .int()
        .min(1)
        .optional()
        .describe('With `story`: only what changed after the commit of this attempt, which was sent back.'),
    }),
  example: { story: 'US-001' },
  output: { kind: 'bytes', mediaType: 'text/x-diff; charset=utf-8' },
  async run({ host, store, masker, learnSecrets }, { story, since, ...input }) {
    const runId = await store.find(input.runId);
    const [state, { config }] = await Promise.all([store.readState(runId), store.readRecord(runId)]);
    if (state.refused !== undefined) return Buffer.alloc(0);
    await learnSecrets(config);
    const { diffRun } = await import('../../runs/diff-run.ts');
    return masker.known(await diffRun({ home: host.home, store }, state, { story, since }));
  },
};
