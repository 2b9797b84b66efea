import { completeConfig } from '../../config/apply-defaults.ts';
import type { Config } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import type { Prd } from '../../core/prd/prd.ts';
import type { WorkerContext } from '../worker-context.ts';

/** What a run is made of: its configuration as it was submitted, and the PRD that was given last. */
export interface Run {
  runId: string;
  prd: Prd;
  config: Config;
}

/** Throws RUN_NOT_FOUND and RUN_UNREADABLE. */
export async function readRun(worker: Pick<WorkerContext, 'store'>, runId: string): Promise<Run> {
  const [events, record] = await Promise.all([worker.store.readJournal(runId), worker.store.readRecord(runId)]);
  const prd = lastPrd(events);
  if (prd === undefined) throw new HaloError('RUN_UNREADABLE', `the journal of run ${runId} has no beginning`);
  return { runId, prd, config: completeConfig(record.config) };
}

/** The PRD that a run went by after these events. */
export function lastPrd(events: readonly JournalEvent[]): Prd | undefined {
  return events.findLast((event) => event.type === 'run.created' || event.type === 'run.replanned')?.prd;
}

/** Whether the run.json of a run still has the settings that it was made with. */
export function hasSettings(config: unknown): boolean {
  return (config as { gates?: unknown } | null | undefined)?.gates !== undefined;
}

/**
 * Throws RUN_UNREADABLE for a run whose run.json has lost the settings that it was made with: no gate would prove what
 * is made. The journal does not hold them.
 */
export function requireSettings(runId: string, config: unknown): void {
  if (hasSettings(config)) return;
  throw new HaloError('RUN_UNREADABLE', `The run.json of run ${runId} is damaged: the settings of the run are gone.`, {
    hint: 'Put the file back from a backup, or run the PRD anew.',
  });
}
