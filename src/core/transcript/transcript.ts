import { formatDuration, msBetween } from '../text/format-elapsed.ts';
import type { JournalEvent } from '../journal/events.ts';
import { safeLine } from '../safe-text.ts';
import { layOut, type Tone, type TranscriptLine } from './transcript-line.ts';
import { storyLines, type Telling } from './story-lines.ts';
import { unmarkedText } from '../unmarked-text.ts';
import { LINE_LENGTH, short } from '../transcript-text.ts';

/**
 * What an event means to people: plain lines in aligned columns (elapsed time, story, who, what), without color.
 * `startedAt` is the ISO 8601 time that elapsed time counts from. Safe to print whatever the agent wrote.
 */
export function transcribe(event: JournalEvent, startedAt: string, how: Telling = {}): string[] {
  const elapsed = formatDuration(msBetween(startedAt, event.at));
  return describe(event, how).map((line) => layOut(line, elapsed));
}

/** The lines of an event, before layout. Most events have one line, quiet ones none. */
export function describe(event: JournalEvent, how: Telling = {}): TranscriptLine[] {
  switch (event.type) {
    case 'run.created': {
      const count = event.prd.stories.length;
      const stories = `${count} ${count === 1 ? 'story' : 'stories'}`;
      return runLine(
        'strong',
        event.runId,
        `${stories} of ${event.prd.project}, ${event.repo.source}${event.repo.base === '' ? '' : ` at ${short(event.repo.base)}`}`,
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
      return runLine('warn', 'PAUSED', `by ${event.by}${event.now ? '' : ', after the story under way'}`);
    case 'run.resumed':
      return runLine('plain', 'RESUMED', `by ${event.by}`);
    case 'run.retried':
      return runLine('plain', 'RETRIED', `by ${event.by}: ${event.stories.join(', ') || 'what was not begun'}`);
    case 'run.reconfigured':
      return runLine('plain', 'RECONFIGURED', `by ${event.by}: ${event.set.join(', ')}`);
    case 'run.replanned':
      return runLine('plain', 'REPLANNED', `by ${event.by}: ${event.prd.stories.length} stories of ${event.prdPath}`);
    case 'run.approved':
      return runLine('good', 'APPROVED', `${short(event.tip)} by ${event.by}`);
    case 'run.rejected':
      return runLine('bad', 'REJECTED', `${short(event.tip)} by ${event.by}: ${event.reason}`);
    case 'run.landed':
      return runLine('good', 'LANDED', `${event.branch} moved from ${short(event.from)} to ${short(event.to)}`);
    case 'marks.failed':
      return runLine('warn', 'NOT MARKED', unmarkedText(event));
    case 'marks.caught_up':
      return runLine('plain', 'MARKED', 'the PRD file says again what has landed');
    case 'breaker.opened':
      return runLine('bad', 'STOPPED TRYING', event.reason);
    case 'breaker.reset':
      return runLine('good', 'TRIES AGAIN', `the breaker ${event.key} was closed by a person`);
    default:
      return storyLines(event, how).map(({ label, tone, text }) => ({
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
      return runLine('plain', 'waited', `for ${run}, which ended with SUCCESS`);
    case 'failed':
      return runLine('warn', 'BLOCKED', `${run} ended with ${stopReason ?? 'a failure'}`);
    case 'open':
      return runLine('plain', 'waits', `for ${run}, which goes on again`);
  }
}

function runLine(tone: Tone, word: string, text: string): TranscriptLine[] {
  return [{ story: '', label: 'run', tone, text: `${safeLine(word)}  ${safeLine(text, LINE_LENGTH)}` }];
}
