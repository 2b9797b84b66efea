import { NO_USAGE, type Usage } from '../agent.ts';
import type { FailureClass } from '../failure/failure.ts';
import type { StopReason } from '../failure/stop-reason.ts';
import type { AttemptRef, JournalEvent, Verdict } from '../journal/events.ts';
import type { Phase } from '../journal/phase.ts';
import { CostReader, groupCosts } from './cost-report.ts';

/** One attempt, from its journal. Times are ISO 8601. */
export interface AttemptSummary extends AttemptRef {
  startedAt: string;
  /** Absent while it is running. */
  endedAt?: string;
  /** Absent while it is running, and if its worker was stopped or crashed. */
  verdict?: Verdict | 'interrupted';
  stopReason?: StopReason;
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

/** Summarizes a journal. */
export function summarizeRun(events: readonly JournalEvent[]): RunSummary {
  const attempts = new Map<string, AttemptSummary>();
  const costs = new CostReader();
  const summary: RunSummary = {
    ...{ runId: '', repo: '', createdAt: '', attempts: [], retries: {}, breakers: [] },
    usage: NO_USAGE,
  };
  for (const event of events) {
    costs.read(event);
    if ('attempt' in event) summarizeAttempt(attempts, event);
    addToRun(summary, event);
  }
  const used = costs.costs();
  summary.usage = groupCosts(used, 'run').total.usage;
  for (const attempt of attempts.values()) {
    const own = used.filter((cost) => cost.story === attempt.story && cost.attempt === attempt.attempt);
    const models = own.flatMap(({ model }) => model ?? []);
    summary.attempts.push({ ...attempt, usage: groupCosts(own, 'run').total.usage, models: [...new Set(models)] });
  }
  return summary;
}

function addToRun(summary: RunSummary, event: JournalEvent): void {
  if (event.type === 'run.created') {
    Object.assign(summary, { runId: event.runId, repo: event.repo.source, createdAt: event.at });
  } else if (event.type === 'run.started') summary.startedAt ??= event.at;
  else if (event.type === 'run.ended') {
    Object.assign(summary, { endedAt: event.at, stopReason: event.stopReason });
  } else if (event.type === 'run.retried' || event.type === 'run.resumed') {
    delete summary.endedAt;
    delete summary.stopReason;
  } else if (event.type === 'retry.scheduled') {
    summary.retries[event.class] = (summary.retries[event.class] ?? 0) + 1;
  } else if (event.type === 'breaker.opened') summary.breakers.push({ at: event.at, reason: event.reason });
  else if (event.type === 'breaker.held') {
    summary.breakers.push({ at: event.at, reason: `${event.key}: ${event.why}` });
  }
}

function summarizeAttempt(attempts: Map<string, AttemptSummary>, event: JournalEvent & AttemptRef): void {
  const { story, attempt } = event;
  const key = JSON.stringify([story, attempt]);
  const known = attempts.get(key);
  if (event.type === 'story.started') {
    // A worker that died or was stopped hands the same attempt to the next one.
    const startedAt = known?.startedAt ?? event.at;
    attempts.set(key, { story, attempt, startedAt, phases: known?.phases ?? {}, usage: NO_USAGE, models: [] });
    return;
  }
  if (known === undefined) return;
  if (event.type === 'phase.ended') known.phases[event.phase] = (known.phases[event.phase] ?? 0) + event.ms;
  else if (event.type === 'story.ended') {
    const { verdict, stopReason, commit, summary: said } = event;
    const error = verdict === 'passed' ? undefined : said.split('\n')[0];
    Object.assign(known, { endedAt: event.at, verdict, stopReason }, error && { error }, commit && { commit });
  } else if (event.type === 'story.disturbed') {
    const [error] = event.summary.split('\n');
    Object.assign(known, { endedAt: event.at, verdict: 'interrupted', stopReason: event.stopReason, error });
  } else if (['story.returned', 'story.stopped', 'story.postponed'].includes(event.type)) known.endedAt = event.at;
  else if (event.type === 'story.approved') known.commit = event.commit;
}
