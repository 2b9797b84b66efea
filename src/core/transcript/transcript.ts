import type { JournalEvent } from '../journal/events.ts';
import { dateTime } from '../retention/retention.ts';
import { unmarkedText } from '../run/unmarked-stories.ts';
import { formatElapsed, msBetween } from '../text/format-elapsed.ts';
import { safeLine } from '../text/safe-text.ts';
import { LINE_LENGTH, shortCommit } from './excerpt.ts';
import { storyEventLines, type EventLineOptions } from './story-lines.ts';
import { layOutLine, type Tone, type TranscriptLine } from './transcript-line.ts';

/**
 * Formats an event as plain lines in aligned columns (elapsed time, story, label, text), without color. `startedAt` is the
 * ISO 8601 time from which elapsed time counts. Safe to print.
 */
export function transcribe(event: JournalEvent, startedAt: string, how: EventLineOptions = {}): string[] {
  const elapsed = formatElapsed(msBetween(startedAt, event.at));
  return describeEvent(event, how).map((line) => layOutLine(line, elapsed));
}

/** The lines of an event before layout. Most events have one line, some have none. */
export function describeEvent(event: JournalEvent, how: EventLineOptions = {}): TranscriptLine[] {
  switch (event.type) {
    case 'run.created': {
      const count = event.prd.stories.length;
      const stories = `${count} ${count === 1 ? 'story' : 'stories'}`;
      return runLine(
        'strong',
        event.runId,
        `${stories}${event.prd.project === '' ? '' : ` of ${event.prd.project}`}, ${event.repo.source}${event.repo.base === '' ? '' : ` at ${shortCommit(event.repo.base)}`}${event.planning ? ', plan' : event.dry ? ', dry run' : ''}`,
      );
    }
    case 'run.started':
    case 'run.claimed':
      return [];
    case 'need.changed':
      return needLine(event);
    case 'run.ended':
      return runLine(event.stopReason === 'SUCCESS' ? 'good' : 'bad', event.stopReason, event.detail);
    case 'run.paused':
      return runLine('warn', 'PAUSED', `by ${event.by}${event.now ? '' : ', after the story in progress'}`);
    case 'run.resumed':
      return runLine('plain', 'RESUMED', `by ${event.by}`);
    case 'run.retried':
      return runLine(
        'plain',
        'RETRIED',
        `by ${event.by}: ${event.stories.join(', ') || 'stories that had not started'}`,
      );
    case 'run.reconfigured':
      return runLine('plain', 'RECONFIGURED', `by ${event.by}: ${event.set.join(', ')}`);
    case 'run.replanned':
      return runLine('plain', 'REPLANNED', `by ${event.by}: ${event.prd.stories.length} stories of ${event.prdPath}`);
    case 'run.approved':
      return runLine('good', 'APPROVED', `${shortCommit(event.tip)} by ${event.by}`);
    case 'run.rejected':
      return runLine('bad', 'REJECTED', `${shortCommit(event.tip)} by ${event.by}: ${event.reason}`);
    case 'run.landed':
      return runLine(
        'good',
        'LANDED',
        `${event.branch} moved from ${shortCommit(event.from)} to ${shortCommit(event.to)}`,
      );
    case 'pull.opened':
      return runLine('good', 'PULL REQUEST', `#${event.number} ${safeLine(event.url, 500)}`);
    case 'pull.closed':
      return runLine(
        event.merged ? 'good' : 'warn',
        'PULL REQUEST',
        `#${event.number} was ${event.merged ? 'merged' : 'closed'}`,
      );
    case 'pull.requested':
      return runLine('plain', 'PULL REQUEST REQUESTED', `by ${event.by}`);
    case 'run.pruned':
      return runLine('warn', 'PRUNED', `retention removed the artifacts on ${dateTime(event.at)}`);
    case 'marks.failed':
      return runLine('warn', 'NOT MARKED', unmarkedText(event));
    case 'marks.caught_up':
      return runLine('plain', 'MARKED', 'the PRD file marks all landed stories');
    case 'breaker.opened':
      return runLine('bad', 'BREAKER OPEN', event.reason);
    case 'breaker.reset':
      return runLine('good', 'BREAKER RESET', `${event.key}, by a user`);
    default:
      return storyEventLines(event, how).map(({ label, tone, text }) => ({
        story: safeLine(event.story),
        label,
        tone,
        text,
      }));
  }
}

function needLine({ run, now, stopReason }: JournalEvent & { type: 'need.changed' }): TranscriptLine[] {
  switch (now) {
    case 'met':
      return runLine('plain', 'WAITED', `for ${run}, which ended with SUCCESS`);
    case 'failed':
      return runLine('warn', 'BLOCKED', `${run} ended with ${stopReason ?? 'a failure'}`);
    case 'open':
      return runLine('plain', 'WAITING', `for ${run}, which continues`);
  }
}

function runLine(tone: Tone, word: string, text: string): TranscriptLine[] {
  return [{ story: '', label: 'run', tone, text: `${safeLine(word)}  ${safeLine(text, LINE_LENGTH)}` }];
}
