import { sleep } from '../../../lib/async.ts';
import { PASS_MS, type RunFrame } from '../../runs/run-followers.ts';
import type { OperationContext } from '../operation-context.ts';
import type { Operation } from '../operation.ts';
import { flagSchema, runStateSchema } from '../schemas.ts';

interface Input {
  /** At most this many runs that have ended, the newest. */
  ended: number;
  follow: boolean;
  /** The `after` of a frame: only runs that have changed since then. */
  after?: string | undefined;
}

export const followRunsOperation: Operation<Input, AsyncIterable<RunFrame>> = {
  name: 'followRuns',
  method: 'GET',
  path: '/v1/run-changes',
  access: 'read',
  summary:
    'Streams the states of runs: all open and the newest ended runs, or those that have changed since the frame with this `after`; then with `follow` of each run that changes.',
  input: (z) =>
    z.strictObject({
      ended: z.coerce.number().int().min(0).max(1_000).default(100),
      follow: flagSchema(z),
      after: z.string().max(100).optional(),
    }),
  example: { ended: 20, follow: true },
  output: {
    kind: 'stream',
    schema: (z) => z.object({ runs: z.array(runStateSchema(z)), after: z.string() }),
    resume: ({ after }: RunFrame) => ({ after }),
  },
  run: (context, input, signal) => Promise.resolve(readChanges(context, input, signal)),
};

async function* readChanges(
  { runTable, caller }: OperationContext,
  { ended, follow, after }: Input,
  signal: AbortSignal | undefined,
): AsyncGenerator<RunFrame> {
  const follower = runTable.follower({ ended, caller }, after);
  for (let isFirst = true; signal?.aborted !== true; isFirst = false) {
    const frame = await follower.next();
    if (isFirst || frame.runs.length > 0) yield frame;
    if (!follow) return;
    await sleep(PASS_MS, signal);
  }
}
