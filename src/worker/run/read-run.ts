import { applyDefaults } from '../../config/apply-defaults.ts';
import type { Config } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import type { Prd } from '../../core/prd/prd.ts';
import type { WorkerContext } from '../worker-context.ts';

/** The inputs of a run: its submitted configuration and its latest PRD. */
export interface RunInputs {
  runId: string;
  prd: Prd;
  config: Config;
}

/** Throws RUN_NOT_FOUND and RUN_UNREADABLE. */
export async function readRun(
  worker: { store: Pick<WorkerContext['store'], 'readRecord' | 'readWithoutActivities'> },
  runId: string,
): Promise<RunInputs> {
  const [events, record] = await Promise.all([
    worker.store.readWithoutActivities(runId),
    worker.store.readRecord(runId),
  ]);
  const prd = lastPrd(events);
  if (prd === undefined) throw new HaloError('RUN_UNREADABLE', `The journal of run ${runId} has no run.created event.`);
  return { runId, prd, config: applyDefaults(record.config) };
}

/** The PRD of a run after these events. */
export function lastPrd(events: readonly JournalEvent[]): Prd | undefined {
  return events.findLast((event) => event.type === 'run.created' || event.type === 'run.replanned')?.prd;
}

/** Whether a run.json still has the settings of its run. */
export function hasSettings(config: unknown): boolean {
  return (config as { gates?: unknown } | null | undefined)?.gates !== undefined;
}

/** Throws RUN_UNREADABLE if a run.json has lost the settings of its run: without them, no gate would run. */
export function assertHasSettings(runId: string, config: unknown): void {
  if (hasSettings(config)) return;
  throw new HaloError('RUN_UNREADABLE', `The run.json of run ${runId} is damaged: the settings of the run are gone.`, {
    hint: 'Restore the file from a backup, or run the PRD again.',
  });
}
