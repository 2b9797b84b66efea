import { processEnv } from '../../../config/environment/host.ts';
import type { PendingReports } from '../../../core/issues/issue-source.ts';
import type { RunState } from '../../../core/run/state.ts';
import { findPendingReports } from '../worker/issue-reporter.ts';

/** What issues do not show yet of a run, with the settings of this process. Throws CONFIG_INVALID. */
export function readPendingReports(home: string, state: RunState): Promise<PendingReports | undefined> {
  return findPendingReports({ home, env: processEnv() }, state);
}
