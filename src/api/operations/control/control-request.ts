import { pino } from 'pino';
import type { JournalEntry } from '../../../core/journal/events.ts';
import type { ControlRequest } from '../../../worker/control/control-run.ts';
import type { RunKeeper } from '../../../worker/worker-context.ts';
import type { NewSettings } from '../../operations.ts';
import { reconfigure } from '../../runs/reconfigure.ts';
import type { OperationContext } from '../operation-context.ts';

/** What the control functions of a worker need in this process. */
export function openKeeper({ host, store }: OperationContext): RunKeeper {
  return { home: host.home, store, log: pino({ level: 'silent' }) };
}

/** The request to control a run, with its changed settings. Throws RUN_NOT_FOUND, CONFIG_INVALID, USAGE. */
export async function openRequest(
  { host, store, by, remote, openQueue }: OperationContext,
  prefix: string,
  settings: NewSettings = {},
): Promise<ControlRequest & { also: JournalEntry[] }> {
  const runId = await store.find(prefix);
  const also = await reconfigure({ host, store, by, runId }, { ...settings, ...(remote && { remote }) });
  return { runId, by, openQueue, also };
}
