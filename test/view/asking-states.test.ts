import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import { foldAttempts } from '../../src/core/journal/attempts.ts';
import { nextSteps } from '../../src/core/run/next-steps.ts';
import { askOf, PROGRESS, STORY_PROGRESS, type Verdict } from '../../src/core/run/progress.ts';
import { awaitsPerson } from '../../src/core/run/state.ts';
import { describeEvent } from '../../src/core/transcript/transcript.ts';
import { findGaps } from '../../src/view/attempt-gaps.ts';
import { inboxItems, INBOX_KINDS } from '../../src/view/inbox.ts';
import { whyStoryWaits } from '../../src/view/waiting.ts';
import { attempted, created, journalOf, stateOf } from '../support/journal.ts';

type Asking = Exclude<Verdict, 'passed' | 'failed'>;
const ASKING = STORY_PROGRESS.filter((progress) => askOf({ progress }) !== undefined) as Asking[];
const NOW = '2030-01-01T01:00:00.000Z';
const USAGE = { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 };

function asking(verdict: Asking): JournalEntry[] {
  const end = { verdict, stopReason: 'NEEDS_HUMAN', summary: 'Which one?', usage: USAGE } as const;
  return [created('r1', 1), ...attempted('US-001'), { type: 'story.ended', story: 'US-001', attempt: 1, ...end }];
}

describe.each(ASKING)('a story that is %s', (verdict) => {
  const ask = askOf({ progress: verdict })!;
  const run = stateOf(...asking(verdict));
  const [story] = run.stories;

  it('has an entry in the inbox, of a kind that the inbox knows', () => {
    expect(INBOX_KINDS).toContain(ask.kind);
    expect(inboxItems(run, [run]).map(({ kind }) => kind)).toEqual([ask.kind]);
    expect(awaitsPerson(run)).toBe(true);
  });

  it('says what it waits for, and how a person begins after the end of the run', () => {
    expect(whyStoryWaits(story!, run, NOW)).toContain(ask.waits);
    const ended = stateOf(...asking(verdict), {
      type: 'run.ended',
      stopReason: 'NEEDS_HUMAN',
      detail: '',
      story: 'US-001',
    });
    expect(nextSteps(ended)[0]).toMatchObject({ ...ask.first, story: 'US-001' });
  });

  it('is in the log with its word and what was asked, without a code', () => {
    const text = journalOf(asking(verdict))
      .flatMap((event) => describeEvent(event))
      .map((line) => line.text);
    expect(text).toContainEqual(`${PROGRESS[verdict].word.toUpperCase()}  Which one?`);
  });

  it('waits for a person between its attempts', () => {
    const journal = journalOf([...asking(verdict), ...attempted('US-001', 2)]).map((event) =>
      event.type === 'story.started' && event.attempt === 2 ? { ...event, at: NOW } : event,
    );
    const [first, second] = foldAttempts(journal);
    expect(findGaps(second!, first)[0]?.why).toBe('waiting for a person');
  });
});
