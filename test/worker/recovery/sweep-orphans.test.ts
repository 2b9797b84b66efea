import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { wasAbandoned } from '../../../src/worker/recovery/sweep-orphans.ts';
import { attempted, created, passed, stateOf } from '../../support/journal.ts';

const after = (...entries: JournalEntry[]) => stateOf(created('r'), ...entries);

const begun = (story: string, epoch: number): JournalEntry => ({ ...attempted(story)[0]!, epoch }) as JournalEntry;

describe('a resource of an attempt', () => {
  it('is abandoned when its run has ended or does not exist', () => {
    const ended: JournalEntry = { type: 'run.ended', stopReason: 'USER_ABORT', detail: '' };
    expect(wasAbandoned(after(begun('US-001', 1), ended), 1)).toBe(true);
    expect(wasAbandoned('gone', 1)).toBe(true);
  });

  it('is abandoned when its story was taken over or has ended', () => {
    expect(wasAbandoned(after(begun('US-001', 1), begun('US-001', 2)), 1)).toBe(true);
    expect(wasAbandoned(after(...passed('US-001')), 1)).toBe(true);
  });

  it('is kept while its attempt may still run', () => {
    const both = after(begun('US-001', 1), begun('US-002', 2));
    expect([wasAbandoned(both, 1), wasAbandoned(both, 2)]).toEqual([false, false]);
    expect(wasAbandoned('unreadable', 3)).toBe(false);
  });
});
