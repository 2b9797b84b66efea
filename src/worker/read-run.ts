import { completeConfig } from '../config/complete.ts';
import type { Config } from '../config/config.ts';
import { HaloError } from '../core/errors.ts';
import type { Prd } from '../core/prd.ts';
import type { WorkerContext } from './worker-context.ts';

/** What a run is made of: its configuration as it was submitted, and the PRD that was given last. */
export interface Run {
  runId: string;
  prd: Prd;
  config: Config;
}

/** Throws RUN_NOT_FOUND and RUN_UNREADABLE. */
export async function readRun(worker: Pick<WorkerContext, 'store'>, runId: string): Promise<Run> {
  const [events, record] = await Promise.all([worker.store.readJournal(runId), worker.store.readRecord(runId)]);
  const given = events.findLast((event) => event.type === 'run.created' || event.type === 'run.replanned');
  if (given === undefined) throw new HaloError('RUN_UNREADABLE', `the journal of run ${runId} has no beginning`);
  return { runId, prd: given.prd, config: completeConfig(record.config) };
}
