import type { Env } from '../../config/environment/host.ts';
import { planReport } from '../../core/issues/issue-report.ts';
import type { RunState } from '../../core/run/state.ts';
import { IssueReportFiles } from '../../store/forge-files.ts';
import { readIssueSettings } from './open-issue-source.ts';

/** The issues of a run that do not show its progress yet. */
export interface PendingReports {
  /** Ids of the stories. */
  stories: string[];
  /** Why the last report was not sent; absent if it was, or if none was tried yet. */
  why?: string;
  /** ISO 8601; with `why`. */
  retryAt?: string;
}

/** Undefined if nothing waits, or if `issues.report` is not set. Throws CONFIG_INVALID. */
export async function findPendingReports(
  { home, env }: { home: string; env: Env },
  state: RunState,
): Promise<PendingReports | undefined> {
  const files = new IssueReportFiles(home);
  if (state.issues === undefined || state.dry || !(await files.has(state.runId))) return undefined;
  const { report, labels } = await readIssueSettings({ home, env });
  if (!report) return undefined;
  const sent = await files.read(state.runId);
  const { label } = state.issues;
  const isPending = (story: RunState['stories'][number]) =>
    planReport(state, story, { sent: sent[story.id] ?? {}, label, labels }) !== undefined;
  const stories = state.stories.filter(isPending).map(({ id }) => id);
  const failure = await files.readFailure(state.runId);
  return stories.length === 0 && failure === undefined ? undefined : { stories, ...failure };
}
