import { expect } from 'vitest';
import { createJobHandler } from '../../../src/worker/job-handler.ts';
import type { RunnerContext } from '../../../src/worker/run/advance-run.ts';
import { it } from '../../support/fixtures.ts';
import { attempted } from '../../support/journal.ts';
import { openIdleRun } from '../idle-run.ts';

it('a run that ends with a fault of its job names the story that it interrupted', async ({ home, repository }) => {
  const run = await openIdleRun(home, repository);
  await run.append(...attempted('US-001'));
  const now = () => {
    throw new Error('the clock is broken');
  };
  const context = { worker: { ...run.keeper, now } } as unknown as RunnerContext;
  const handle = createJobHandler(context, {
    queue: { enqueue: () => Promise.resolve() },
    reconciler: { wake: () => Promise.resolve() },
  });
  const job = { runId: run.runId, ordinal: 0, attempt: 1 };
  await handle(job, AbortSignal.timeout(60_000), { jobId: 'j', lastTry: true, queuedMs: 0 });
  const { stopReason, decisive } = await run.store.readState(run.runId);
  expect([stopReason, decisive]).toEqual(['UNKNOWN_ERROR', 'US-001']);
});
