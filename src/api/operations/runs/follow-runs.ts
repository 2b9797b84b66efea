import { sleep } from '../../../lib/async.ts';
import type { ListedRun } from '../../runs/limited-runs.ts';
import type { OperationContext } from '../operation-context.ts';
import type { Operation } from '../operation.ts';
import { flagSchema, runStateSchema } from '../schemas.ts';

interface Input {
  /** At most this many runs that have ended, the newest. */
  ended: number;
  follow: boolean;
}

interface Frame {
  runs: ListedRun[];
}

const INTERVAL_MS = 1_000;
/** An ended run changes, too: it is approved, landed or removed. */
const REREAD_MS = 10_000;

export const followRunsOperation: Operation<Input, AsyncIterable<Frame>> = {
  name: 'followRuns',
  method: 'GET',
  path: '/v1/run-changes',
  access: 'read',
  summary:
    'Streams the states of runs: all open and the newest ended runs, then with `follow` of each run that changes.',
  input: (z) =>
    z.strictObject({ ended: z.coerce.number().int().min(0).max(1_000).default(100), follow: flagSchema(z) }),
  example: { ended: 20, follow: true },
  output: { kind: 'stream', schema: (z) => z.object({ runs: z.array(runStateSchema(z)) }) },
  run: (context, input, signal) => Promise.resolve(readChanges(context, input, signal)),
};

async function* readChanges(
  { store, limitedRuns }: OperationContext,
  { ended, follow }: Input,
  signal: AbortSignal | undefined,
): AsyncGenerator<Frame> {
  let known: Map<string, string> | undefined;
  while (signal?.aborted !== true) {
    // Read before the list, so that a change during the list is read again.
    const changedAt = await store.openRunsChangedAt();
    const { runs } = await limitedRuns.list({ ended });
    const before = known;
    const changed = runs.filter((run) => before?.get(run.runId) !== versionOf(run));
    known = new Map(runs.map((run) => [run.runId, versionOf(run)]));
    if (before === undefined || changed.length > 0) yield { runs: changed };
    if (!follow) return;
    await untilChange(() => store.openRunsChangedAt(), changedAt, signal);
  }
}

/** Waits until an open run has changed, or an ended run may have. */
async function untilChange(
  read: () => Promise<number>,
  before: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let waited = 0; waited < REREAD_MS && signal?.aborted !== true; waited += INTERVAL_MS) {
    await sleep(INTERVAL_MS, signal);
    if ((await read()) !== before) return;
  }
}

/** Changes with everything that the list shows of a run. */
function versionOf({ seq, heldBy }: ListedRun): string {
  return `${seq} ${heldBy ?? ''}`;
}
