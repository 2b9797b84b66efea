import { reasonWords } from '../core/failure/plain-reason.ts';
import { attemptMs, AttemptReader, type RunningCommand } from '../core/journal/attempts.ts';
import type { JournalEvent } from '../core/journal/events.ts';

/** A failed attempt, including failures outside the story's control. */
export interface FailedAttemptRow {
  story: string;
  attempt: number;
  /** Formatted for people. */
  reason: string;
  summary: string;
  ms: number;
}

/** Collects facts about attempts that the run's state does not contain. */
export class AttemptTracker {
  readonly #reader = new AttemptReader();
  #failed: FailedAttemptRow[] = [];

  /** Failed attempts, in the order of their ends; without those of stories that a person retried since. */
  get failed(): readonly FailedAttemptRow[] {
    return this.#failed;
  }

  get running(): RunningCommand[] {
    return this.#reader.attempts.flatMap(({ running }) => running ?? []);
  }

  see(event: JournalEvent): void {
    const attempt = this.#reader.read(event);
    if (event.type === 'run.retried') this.#failed = this.#failed.filter(({ story }) => !event.stories.includes(story));
    const isFailed = event.type === 'story.disturbed' || (event.type === 'story.ended' && event.verdict === 'failed');
    if (!isFailed || attempt?.end === undefined) return;
    const { reason, summary, at } = attempt.end;
    this.#failed.push({
      story: event.story,
      attempt: event.attempt,
      reason: reasonWords(reason),
      summary,
      ms: attemptMs(attempt, at),
    });
  }
}
