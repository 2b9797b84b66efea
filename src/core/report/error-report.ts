import { errorSignature } from '../failure/breaker.ts';
import type { FailureClass } from '../failure/failure.ts';
import type { StopReason } from '../failure/stop-reason.ts';
import type { JournalEvent } from '../journal/events.ts';

/** One failed or interrupted attempt. */
export interface AttemptFailure {
  /** ISO 8601 */
  at: string;
  runId: string;
  repo: string;
  story: string;
  attempt: number;
  /** The error without numbers, ids and times: equal for equivalent errors. */
  signature: string;
  stopReason: StopReason;
  /** Undefined in journals of older versions. */
  class?: FailureClass;
  /** The error as it was reported: one or several lines. */
  error: string;
}

/** Failures with the same signature. */
export interface ErrorGroup {
  signature: string;
  stopReason: StopReason;
  class?: FailureClass;
  count: number;
  /** Ids of the runs, the latest first. */
  runs: string[];
  /** ISO 8601 */
  first: string;
  last: string;
  /** The latest failure. */
  latest: Pick<AttemptFailure, 'runId' | 'story' | 'attempt' | 'error'>;
}

const MAX_ERROR_LENGTH = 500;

/** Reads the failures of a run from its journal, event by event. Events before `since` (ISO 8601) do not count. */
export class FailureReader {
  readonly failures: AttemptFailure[] = [];
  readonly #since: string;
  #run = { runId: '', repo: '' };

  constructor(since = '') {
    this.#since = since;
  }

  read(event: JournalEvent): void {
    if (event.type === 'run.created') this.#run = { runId: event.runId, repo: event.repo.source };
    if (event.at < this.#since) return;
    if (event.type === 'story.disturbed') this.#add(event, errorSignature(event.summary), event.class);
    if (event.type === 'story.ended' && event.verdict === 'failed') {
      const { failure, summary } = event;
      this.#add(event, failure?.sign.error ?? errorSignature(summary), failure?.class);
    }
  }

  #add(
    { at, story, attempt, stopReason, summary }: JournalEvent & { type: 'story.ended' | 'story.disturbed' },
    signature: string,
    failureClass: FailureClass | undefined,
  ): void {
    const error = summary.slice(0, MAX_ERROR_LENGTH);
    const known = failureClass === undefined ? {} : { class: failureClass };
    this.failures.push({ at, ...this.#run, story, attempt, signature, stopReason, ...known, error });
  }
}

/** Groups failures by stop reason and signature, the most frequent first, then the latest. */
export function groupErrors(failures: readonly AttemptFailure[]): ErrorGroup[] {
  const groups = new Map<string, AttemptFailure[]>();
  for (const failure of failures) {
    const key = `${failure.stopReason} ${failure.signature}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [failure]);
    else group.push(failure);
  }
  return [...groups.values()]
    .map((group) => toErrorGroup(group.toSorted((a, b) => (a.at < b.at ? 1 : -1))))
    .sort((a, b) => b.count - a.count || (a.last < b.last ? 1 : -1));
}

/** `failures`: the latest first, at least one. */
function toErrorGroup(failures: readonly AttemptFailure[]): ErrorGroup {
  const [latest] = failures;
  if (latest === undefined) throw new Error('A group has at least one failure.');
  const { signature, stopReason, runId, story, attempt, error } = latest;
  return {
    signature,
    stopReason,
    ...(latest.class && { class: latest.class }),
    count: failures.length,
    runs: [...new Set(failures.map((failure) => failure.runId))],
    first: failures.at(-1)?.at ?? latest.at,
    last: latest.at,
    latest: { runId, story, attempt, error },
  };
}
