import type { Artifact } from '../../../core/journal/events.ts';
import type { Operation } from '../operation.ts';

export const listArtifactsOperation: Operation<{ runId: string }, { artifacts: Artifact[] }> = {
  name: 'listArtifacts',
  method: 'GET',
  path: '/v1/runs/{runId}/artifacts',
  access: 'read',
  summary: 'Lists the files of the attempts and of the debug bundle (`debug_bundle/…`), sorted by path.',
  output: {
    kind: 'json',
    schema: (z) => {
      const artifact = z.object({ path: z.string(), bytes: z.number().int(), changedAt: z.string() });
      return z.object({ artifacts: z.array(artifact) });
    },
  },
  run: async ({ store }, { runId }) => ({ artifacts: await store.listArtifacts(await store.find(runId)) }),
};
