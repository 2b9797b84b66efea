import { describe, expect, it } from 'vitest';
import { foldRun } from '../../../src/core/journal/fold-run.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { wasAbandoned } from '../../../src/worker/recovery/sweep-orphans.ts';
import { attempted, created, passed } from '../../support/journal.ts';

function after(...entries: JournalEntry[]) {
  const at = '2030-01-01T00:00:00Z';
  return foldRun([created('r', 2), ...entries].map((entry, index) => ({ v: 1, seq: index + 1, at, ...entry })))!;
}

const begun = (story: string, epoch: number): JournalEntry => ({ ...attempted(story)[0]!, epoch }) as JournalEntry;

describe('what an attempt made', () => {
  it('belongs to nobody when its run has ended or is gone', () => {
    const ended: JournalEntry = { type: 'run.ended', stopReason: 'USER_ABORT', detail: '' };
    expect(wasAbandoned(after(begun('US-001', 1), ended), 1)).toBe(true);
    expect(wasAbandoned('gone', 1)).toBe(true);
  });

  it('belongs to nobody when its story was taken over, or has ended', () => {
    expect(wasAbandoned(after(begun('US-001', 1), begun('US-001', 2)), 1)).toBe(true);
    expect(wasAbandoned(after(...passed('US-001')), 1)).toBe(true);
  });

  it('is left alone while its attempt may go on, whatever other stories of the run do', () => {
    const both = after(begun('US-001', 1), begun('US-002', 2));
    expect([wasAbandoned(both, 1), wasAbandoned(both, 2)]).toEqual([false, false]);
    expect(wasAbandoned('unreadable', 3)).toBe(false);
  });
});
