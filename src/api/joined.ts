import type { PendingReports } from '../core/issues/issue-source.ts';
import type { RunState } from '../core/run/state.ts';

/** What forges do not show yet of a run in a HALO_HOME; undefined if nothing waits. */
export const PENDING_REPORTS: readonly ((home: string, state: RunState) => Promise<PendingReports | undefined>)[] = [
  async (home, state) => (await import('../features/issues/api/pending-reports.ts')).readPendingReports(home, state),
];
