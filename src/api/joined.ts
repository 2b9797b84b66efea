import type { Env } from '../config/environment/host.ts';
import type { PendingReports } from '../core/issues/issue-source.ts';
import type { RunState } from '../core/run/state.ts';

type ReadReports = (from: { home: string; env: Env }, state: RunState) => Promise<PendingReports | undefined>;

/** What forges do not show yet of a run; undefined if nothing waits. */
export const PENDING_REPORTS: readonly ReadReports[] = [
  async (from, state) => (await import('../features/issues/worker/issue-reporter.ts')).findPendingReports(from, state),
];
