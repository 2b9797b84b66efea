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

export interface Attempts {
  see(event: JournalEvent): void;
  /** Failed attempts, in the order of their ends; without those of stories that a person retried since. */
  failed(): readonly FailedAttemptRow[];
  running(): RunningCommand[];
}

/** Collects facts about attempts that the run's state does not contain. */
export function followAttempts(): Attempts {
  let failed: FailedAttemptRow[] = [];
  const started = new Map<string, string>();
  const running = new Map<string, RunningCommand>();
  const folders = new Map<string, string>();

  function see(event: JournalEvent): void {
    switch (event.type) {
      case 'run.retried':
        failed = failed.filter(({ story }) => !event.stories.includes(story));
        return;
      case 'story.started':
        started.set(event.story, event.at);
        folders.set(event.story, 'gates');
        running.delete(event.story);
        return;
      case 'story.merged':
        folders.set(event.story, `gates/onto-${event.onto.slice(0, 12)}`);
        return;
      case 'phase.started':
        running.delete(event.story);
        if (event.phase === 'setup') run(event, 'setup', 'setup/setup-1.log');
        if (event.phase === 'gates') run(event, 'setup', `${folderOf(event)}/setup-1.log`);
        return;
      // Logs are numbered by command.
      case 'setup.ended':
        return run(event, 'setup', followingLog(event.log));
      case 'gate.started':
        if (running.get(event.story)?.kind !== 'gate') run(event, 'gate', `${folderOf(event)}/1.log`);
        return;
      case 'gate.ended':
        return run(event, 'gate', followingLog(event.log));
      case 'phase.ended':
      case 'story.stopped':
      case 'story.returned':
      case 'story.postponed':
        running.delete(event.story);
        return;
      case 'story.disturbed':
        fail(event, plainReason(event.stopReason, event));
        return;
      case 'story.ended':
        if (event.verdict === 'failed') fail(event, plainReason(event.stopReason, event.failure));
        running.delete(event.story);
        return;
      default:
        return;
    }
  }

  function folderOf({ story }: { story: string }): string {
    return folders.get(story) ?? 'gates';
  }

  function run({ story, attempt }: { story: string; attempt: number }, kind: 'setup' | 'gate', log: string): void {
    running.set(story, { story, attempt, kind, log });
  }

  function fail(event: JournalEvent & { type: 'story.ended' | 'story.disturbed' }, reason: string): void {
    const { story, attempt, summary, at } = event;
    running.delete(story);
    failed.push({ story, attempt, reason, summary, ms: msBetween(started.get(story) ?? at, at) });
  }

  return { see, failed: () => failed, running: () => [...running.values()] };
}

function followingLog(log: string): string {
  return log.replace(/\d+(?=\.log$)/, (number) => String(Number(number) + 1));
}
