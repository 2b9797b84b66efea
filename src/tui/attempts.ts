import { plainReason } from '../core/failure/plain-reason.ts';
import type { JournalEvent } from '../core/journal/events.ts';
import { msBetween } from '../core/text/format-elapsed.ts';

/** A failed attempt, including failures outside the story's control. */
export interface FailedAttemptRow {
  story: string;
  attempt: number;
  /** Formatted for people. */
  reason: string;
  summary: string;
  ms: number;
}

/** The command of setup or gates that an attempt runs. */
export interface RunningCommand {
  story: string;
  attempt: number;
  kind: 'setup' | 'gate';
  /** Its log, within the attempt. */
  log: string;
}

/** Collects facts about attempts that the run's state does not contain. */
export class AttemptTracker {
  #failed: FailedAttemptRow[] = [];
  readonly #started = new Map<string, string>();
  readonly #running = new Map<string, RunningCommand>();
  readonly #folders = new Map<string, string>();

  /** Failed attempts, in the order of their ends; without those of stories that a person retried since. */
  get failed(): readonly FailedAttemptRow[] {
    return this.#failed;
  }

  get running(): RunningCommand[] {
    return [...this.#running.values()];
  }

  see(event: JournalEvent): void {
    switch (event.type) {
      case 'run.retried':
        this.#failed = this.#failed.filter(({ story }) => !event.stories.includes(story));
        return;
      case 'story.started':
        this.#started.set(event.story, event.at);
        this.#folders.set(event.story, 'gates');
        this.#running.delete(event.story);
        return;
      case 'story.merged':
        this.#folders.set(event.story, `gates/onto-${event.onto.slice(0, 12)}`);
        return;
      case 'phase.started':
        this.#running.delete(event.story);
        if (event.phase === 'setup') this.#run(event, 'setup', 'setup/setup-1.log');
        if (event.phase === 'gates') this.#run(event, 'setup', `${this.#folderOf(event)}/setup-1.log`);
        return;
      // Logs are numbered by command.
      case 'setup.ended':
        return this.#run(event, 'setup', followingLog(event.log));
      case 'gate.started':
        if (this.#running.get(event.story)?.kind !== 'gate') this.#run(event, 'gate', `${this.#folderOf(event)}/1.log`);
        return;
      case 'gate.ended':
        return this.#run(event, 'gate', followingLog(event.log));
      case 'phase.ended':
      case 'story.stopped':
      case 'story.returned':
      case 'story.postponed':
        this.#running.delete(event.story);
        return;
      case 'story.disturbed':
        this.#fail(event, plainReason(event.stopReason, event));
        return;
      case 'story.ended':
        if (event.verdict === 'failed') this.#fail(event, plainReason(event.stopReason, event.failure));
        this.#running.delete(event.story);
        return;
      default:
        return;
    }
  }

  #folderOf({ story }: { story: string }): string {
    return this.#folders.get(story) ?? 'gates';
  }

  #run({ story, attempt }: { story: string; attempt: number }, kind: 'setup' | 'gate', log: string): void {
    this.#running.set(story, { story, attempt, kind, log });
  }

  #fail(event: JournalEvent & { type: 'story.ended' | 'story.disturbed' }, reason: string): void {
    const { story, attempt, summary, at } = event;
    this.#running.delete(story);
    this.#failed.push({ story, attempt, reason, summary, ms: msBetween(this.#started.get(story) ?? at, at) });
  }
}

function followingLog(log: string): string {
  return log.replace(/\d+(?=\.log$)/, (number) => String(Number(number) + 1));
}
