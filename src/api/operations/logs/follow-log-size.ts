import type { Operation } from '../operation.ts';
import { flagSchema } from '../schemas.ts';

interface Input {
  runId: string;
  /** As in the list of artifacts; the file may not exist yet. */
  path: string;
  follow: boolean;
}

interface Frame {
  lines: number;
  bytes: number;
}

export const followLogOperation: Operation<Input, AsyncIterable<Frame>> = {
  name: 'followLog',
  method: 'GET',
  path: '/v1/runs/{runId}/log-changes/{path*}',
  access: 'read',
  summary: 'Streams the size of a file of an attempt; with `follow` also each time that it has grown.',
  input: (z) => z.strictObject({ follow: flagSchema(z) }),
  example: { follow: false },
  output: { kind: 'stream', schema: (z) => z.object({ lines: z.number().int(), bytes: z.number().int() }) },
  async run({ store }, { runId, path, follow }, signal) {
    return store.followLog(await store.find(runId), path, { follow, ...(signal && { signal }) });
  },
};
