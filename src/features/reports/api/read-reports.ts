import { readReportOf, type ReportOf } from '../../../api/runs/read-report-of.ts';
import type { EventType } from '../../../core/journal/events.ts';
import { isUser } from '../../../core/access/recorded-user.ts';
import { toAuditEntry, type AuditEntry } from '../core/audit-report.ts';
import { CostReader, type AttemptCost } from '../core/cost-report.ts';
import { resultsOf, type StoryResult } from '../core/quality-report.ts';
import { FailureReader, type AttemptFailure } from '../core/error-report.ts';
import type { JournalEvent } from '../../../core/journal/events.ts';
import type { JournalStore } from '../../../store/journal-store.ts';

type Journals = Pick<JournalStore, 'recentRuns' | 'follow'>;

/** Which journals a report reads. */
export interface ReportScope {
  /** Only this run. */
  runId?: string | undefined;
  /** Only events at or after this time, ISO 8601. */
  since?: string | undefined;
}

export async function readCosts(store: Journals, scope: ReportScope): Promise<ReportOf<AttemptCost>> {
  return readRuns(store, scope, async (events) => {
    const reader = new CostReader(scope.since);
    for await (const event of events) reader.read(event);
    return reader.costs();
  });
}

export async function readFailures(store: Journals, scope: ReportScope): Promise<ReportOf<AttemptFailure>> {
  return readRuns(store, scope, async (events) => {
    const reader = new FailureReader(scope.since);
    for await (const event of events) reader.read(event);
    return reader.failures;
  });
}

/** The results of stories whose last attempt is in the scope, from whole journals. */
export async function readResults(store: Journals, scope: ReportScope): Promise<ReportOf<StoryResult>> {
  return readRuns(store, scope, async (events) => {
    const read: JournalEvent[] = [];
    for await (const event of events) if (event.type !== 'agent.activity') read.push(event);
    return resultsOf(read, scope.since);
  });
}

/** Which audited events to return. */
interface AuditFilter extends ReportScope {
  type?: EventType | undefined;
  by?: string | undefined;
  /** Maximum number of entries. */
  limit: number;
}

/** The latest audited events that match, the latest first. Reads no more journals than that takes. */
export async function readAudit(store: Journals, filter: AuditFilter): Promise<ReportOf<AuditEntry>> {
  const report: ReportOf<AuditEntry> = { entries: [], unreadable: [] };
  for (const { runId, changedAt } of await runsIn(store, filter)) {
    const oldest = report.entries.at(filter.limit - 1);
    if (oldest !== undefined && oldest.at > changedAt) break;
    const part = await readReportOf(store, runId, (events) => auditOf(events, runId, filter));
    report.unreadable.push(...part.unreadable);
    report.entries = [...report.entries, ...part.entries].sort((a, b) => (a.at < b.at ? 1 : -1)).slice(0, filter.limit);
  }
  return report;
}

async function auditOf(
  events: AsyncIterable<JournalEvent>,
  runId: string,
  { since = '', type, by, limit }: AuditFilter,
): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  let repo = '';
  for await (const event of events) {
    if (event.type === 'run.created') repo = event.repo.source;
    const entry = event.at < since ? undefined : toAuditEntry(event, { runId, repo });
    if (
      entry === undefined ||
      (type !== undefined && entry.type !== type) ||
      (by !== undefined && !isUser(entry.by, by))
    )
      continue;
    entries.push(entry);
    if (entries.length > limit) entries.shift();
  }
  return entries.reverse();
}

async function readRuns<T>(
  store: Journals,
  scope: ReportScope,
  read: (events: AsyncIterable<JournalEvent>) => Promise<T[]>,
): Promise<ReportOf<T>> {
  const report: ReportOf<T> = { entries: [], unreadable: [] };
  for (const { runId } of await runsIn(store, scope)) {
    const part = await readReportOf(store, runId, read);
    report.entries.push(...part.entries);
    report.unreadable.push(...part.unreadable);
  }
  return report;
}

async function runsIn(store: Journals, { runId, since }: ReportScope): Promise<{ runId: string; changedAt: string }[]> {
  if (runId !== undefined) return [{ runId, changedAt: '' }];
  return store.recentRuns(since);
}
