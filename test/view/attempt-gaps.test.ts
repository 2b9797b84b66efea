import { describe, expect, it } from 'vitest';
import { foldAttempts } from '../../src/core/journal/attempts.ts';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import { findGaps } from '../../src/view/attempt-gaps.ts';
import { asked, attempted, created, failed, journalOf } from '../support/journal.ts';

const story = 'US-001';
const ref = { story, attempt: 1 };
const START = Date.UTC(2030, 0, 1);

/** The gaps of the last attempt, in seconds after the start; each event is a minute after the one before. */
function gapsOf(...entries: JournalEntry[]): [from: number, to: number, why: string][] {
  const events = journalOf([created('r1', 1), ...entries]).map((event, index) => ({
    ...event,
    at: new Date(START + index * 60_000).toISOString(),
  }));
  const attempts = foldAttempts(events);
  const [last, before] = [attempts.at(-1), attempts.at(-2)];
  if (last === undefined) throw new Error('no attempt');
  return findGaps(last, before).map(({ from, to, why }) => [(from - START) / 1000, (to - START) / 1000, why]);
}

const again = (attempt: number) => attempted(story, attempt).slice(0, 1);
const at = (minute: number) => new Date(START + minute * 60_000).toISOString();

describe('the gaps of an attempt', () => {
  const fails = failed(story);
  const ended = fails.length;
  it.each<[string, JournalEntry[], [number, string][]]>([
    ['are none for the first one', attempted(story), []],
    [
      'are the delay of a retry, then the wait for a worker',
      [
        ...fails,
        {
          ...{ type: 'retry.scheduled', ...ref, class: 'gate', rule: 'hint', nth: 1, of: 2, why: 'red' },
          notBefore: at(ended + 1.5),
        },
        ...again(2),
      ],
      [
        [90, 'retry delay'],
        [30, 'waiting for a worker'],
      ],
    ],
    ['are the wait for a worker without a delay', [...fails, ...again(2)], [[60, 'waiting for a worker']]],
    [
      'are the wait for a person',
      [...asked(story).filter(({ type }) => type !== 'run.ended'), ...again(2)],
      [[60, 'waiting for a person']],
    ],
    [
      'are a pause of the model within an attempt',
      [
        ...attempted(story),
        { ...{ type: 'story.postponed', ...ref, model: 'm', by: 'provider', why: 'x' }, notBefore: at(9) },
        ...again(1),
      ],
      [[60, 'waiting for the model']],
    ],
  ])('%s', (_what, entries, expected) => {
    expect(gapsOf(...entries).map(([from, to, why]) => [to - from, why])).toEqual(expected);
  });
});
