import { storyOf } from '../../../core/run/state.ts';
import type { Store } from '../../../store/store.ts';
import type { Operation } from '../operation.ts';
import { flagSchema } from '../schemas.ts';

interface Input {
  runId: string;
  /** Id of a story; undefined: all. */
  story: string | undefined;
  follow: boolean;
}

interface Frame {
  /** Base64. */
  raw: string;
}

export const followRawOperation: Operation<Input, AsyncIterable<Frame>> = {
  name: 'followRaw',
  method: 'GET',
  path: '/v1/runs/{runId}/raw',
  access: 'read',
  summary: 'Streams the output of the agents byte for byte, in base64; with `story` only that of one story.',
  input: (z) => z.strictObject({ story: z.string().optional(), follow: flagSchema(z) }),
  example: { story: 'US-001' },
  output: { kind: 'stream', schema: (z) => z.object({ raw: z.base64() }) },
  async run({ store }, input, signal) {
    return readFrames(store, { ...input, runId: await store.find(input.runId) }, signal);
  },
};

async function* readFrames(
  store: Store,
  { runId, story, follow }: Input,
  signal: AbortSignal | undefined,
): AsyncGenerator<Frame> {
  const key = story === undefined ? {} : { storyKey: storyOf(await store.readState(runId), story).key };
  for await (const bytes of store.followRaw(runId, { ...key, follow, ...(signal && { signal }) }))
    yield { raw: Buffer.from(bytes).toString('base64') };
}
