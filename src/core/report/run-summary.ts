import { addUsage, NO_USAGE, type Usage } from '../agent.ts';
import type { FailureClass } from '../failure/failure.ts';
import type { StopReason } from '../failure/stop-reason.ts';
import { attemptMs, foldAttempts, phaseMs, totalUsage, type AttemptRecord } from '../journal/attempts.ts';
import type { AttemptRef } from '../journal/event-parts.ts';
import type { Verdict } from '../run/progress.ts';
import type { JournalEvent } from '../journal/events.ts';
import { foldRun } from '../journal/fold-run.ts';
import type { Phase } from '../journal/phase.ts';

/** One attempt, from its journal. Times are ISO 8601. */
export interface AttemptSummary extends AttemptRef {
  startedAt: string;
  /** Absent while it is running. */
  endedAt?: string;
  /** How long it has run, without waits for people, models, retries and workers. */
  ms: number;
  /** Absent while it is running. */
  verdict?: Verdict | 'interrupted';
  stopReason?: StopReason;
  /** Why it ended, formatted for people, such as `BASE_BROKEN`. */
  reason?: string;
  /** The first line of what was reported at its end. */
  error?: string;
  commit?: string;
  /** Milliseconds per phase. */
  phases: Partial<Record<Phase, number>>;
  usage: Usage;
  /** In the order of their first use. */
  models: string[];
}

/** A run in figures. */
export interface RunSummary {
  runId: string;
  repo: string;
  createdAt: string;
  startedAt?: string;
  endedAt?: string;
  stopReason?: StopReason;
  attempts: AttemptSummary[];
  /** Scheduled retries by the class of the failure. */
  retries: Partial<Record<FailureClass, number>>;
  /** When a breaker delayed or stopped the run, and why. */
  breakers: { at: string; reason: string }[];
  usage: Usage;
}

/** Summarizes a journal at a time (ISO 8601). */
export function summarizeRun(events: readonly JournalEvent[], now: string): RunSummary {
  const attempts = foldAttempts(events);
  const { startedAt, endedAt, stopReason } = foldRun(events) ?? {};
  const summary: RunSummary = {
    ...{ runId: '', repo: '', createdAt: '' },
    ...(startedAt !== undefined && { startedAt }),
    ...(endedAt !== undefined && { endedAt }),
    ...(stopReason !== undefined && { stopReason }),
    ...{ retries: {}, breakers: [] },
    attempts: attempts.map((attempt) => summarizeAttempt(attempt, now)),
    usage: attempts.reduce((sum, { usage }) => addUsage(sum, totalUsage(usage)), NO_USAGE),
  };
  for (const event of events) addToRun(summary, event);
  return summary;
}

function addToRun(summary: RunSummary, event: JournalEvent): void {
  if (event.type === 'run.created') {
    Object.assign(summary, { runId: event.runId, repo: event.repo.source, createdAt: event.at });
  } else if (event.type === 'retry.scheduled') {
    summary.retries[event.class] = (summary.retries[event.class] ?? 0) + 1;
  } else if (event.type === 'breaker.opened') summary.breakers.push({ at: event.at, reason: event.reason });
  else if (event.type === 'breaker.held') {
    summary.breakers.push({ at: event.at, reason: `${event.key}: ${event.why}` });
  }
}

function summarizeAttempt(record: AttemptRecord, now: string): AttemptSummary {
  const { story, attempt, startedAt, end, usage } = record;
  const phases: AttemptSummary['phases'] = {};
  for (const span of record.phases) phases[span.phase] = (phases[span.phase] ?? 0) + phaseMs(span, now);
  const { verdict, stopReason, reason, commit, summary = '' } = end ?? {};
  const [error = ''] = verdict === 'passed' ? [] : summary.split('\n');
  return {
    ...{ story, attempt, startedAt, ms: attemptMs(record, now) },
    ...(end !== undefined && { endedAt: end.at }),
    ...(verdict !== undefined && { verdict }),
    ...(stopReason !== undefined && { stopReason }),
    ...(reason !== undefined && { reason }),
    ...(error !== '' && { error }),
    ...(commit !== undefined && { commit }),
    ...{ phases, usage: totalUsage(usage) },
    models: usage.flatMap(({ model }) => model ?? []),
  };
}
