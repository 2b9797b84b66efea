import { completeConfig } from '../config/complete.ts';
import type { Config } from '../config/config.ts';
import { HaloError } from '../core/errors.ts';
import type { JournalEvent } from '../core/events.ts';
import type { Prd } from '../core/prd.ts';
import type { WorkerContext } from './worker-context.ts';

/** What a run was made of, unchanged since it was submitted. */
export interface Run {
  runId: string;
  prd: Prd;
  config: Config;
}

/** Throws RUN_NOT_FOUND and RUN_UNREADABLE. */
export async function readRun(worker: Pick<WorkerContext, 'store'>, runId: string): Promise<Run> {
  const [events, record] = await Promise.all([worker.store.readJournal(runId), worker.store.readRecord(runId)]);
  const created = events.find((event): event is JournalEvent & { type: 'run.created' } => event.type === 'run.created');
  if (created === undefined) throw new HaloError('RUN_UNREADABLE', `the journal of run ${runId} has no beginning`);
  return { runId, prd: created.prd, config: completeConfig(record.config) };
}
