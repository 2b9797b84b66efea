import { join } from 'node:path';
import { pino } from 'pino';
import { onTestFinished, vi } from 'vitest';
import { openMasker } from '../../src/lib/secrets/masker.ts';
import type { BudgetLedger } from '../../src/queue/budget/budget-ledger.ts';
import { createWorkerContext } from '../../src/worker/create-worker-context.ts';
import type { WorkerContext } from '../../src/worker/worker-context.ts';
import { hostOf } from '../support/halo/host.ts';

/** What a worker of a home works with, on a machine whose Docker Engine does not answer. Closed when the test ends. */
export function openIdleWorker(
  home: string,
  { now = Date.now, shared }: { now?: () => number; shared?: BudgetLedger } = {},
): WorkerContext {
  vi.stubEnv('DOCKER_HOST', `unix://${join(home, 'no-docker.sock')}`);
  const cleaning = new Set<Promise<void>>();
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await Promise.all(cleaning);
  });
  const [log, masker] = [pino({ level: 'silent' }), openMasker()];
  return createWorkerContext({ host: hostOf(home), homeId: 'x', log, masker, cleaning, shared, now });
}
