import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { chooseState, type DebugQuery } from '../../../src/features/debug/core/choose-state.ts';
import { attempted, created, failed, journalOf, passed, stateOf } from '../../support/journal.ts';

const choose = (entries: JournalEntry[], query: DebugQuery = {}) => {
  const all = [created('r'), ...entries];
  return chooseState(stateOf(...all), journalOf(all), query);
};
const gates = (story: string, exitCode: number): JournalEntry[] => [
  { type: 'phase.started', story, attempt: 1, phase: 'gates' },
  { type: 'gate.ended', story, attempt: 1, command: 'npm test', exitCode, ms: 1, log: 'gates/1.log' },
];
const [begun] = attempted('US-001');

describe('the state that a person looks at', () => {
  it('is by default that of the gates, if the attempt had come so far', () => {
    expect(choose([begun!])).toMatchObject({ story: 'US-001', attempt: 1, at: 'agent', isRunning: true, gates: [] });
    expect(choose([begun!, ...gates('US-001', 1)])).toMatchObject({
      at: 'gates',
      gates: [{ command: 'npm test', exitCode: 1 }],
    });
    expect(choose([begun!, ...gates('US-001', 1)], { at: 'agent' })).toMatchObject({ at: 'agent' });
  });

  it('has each gate once, with its last result', () => {
    expect(choose([begun!, ...gates('US-001', 1), ...gates('US-001', 0)]).gates).toEqual([
      { command: 'npm test', exitCode: 0 },
    ]);
  });

  it('is that of the story that explains the end, or the only one', () => {
    const both = [...passed('US-001'), ...failed('US-002')];
    const end: JournalEntry = { type: 'run.ended', stopReason: 'GATE_FAILED', detail: '', story: 'US-002' };
    expect(choose([...both, end])).toMatchObject({ story: 'US-002', landed: undefined });
    expect(() => choose(both)).toThrow('Run r has several stories.');
    expect(() => choose([])).toThrow('Run r has no story with an attempt.');
  });

  it('has the commit that landed', () => {
    expect(choose(passed('US-001'), { story: 'US-001' }).landed).toMatch(/^[0-9a-f]{40}$/);
  });

  it.for([
    [{ story: 'US-002' }, 'There is no attempt at the story "US-002" of run r.'],
    [{ story: 'US-001', attempt: 2 }, 'There is no attempt 2 at the story "US-001" of run r.'],
    [{ story: 'US-9' }, 'Run r has no story "US-9"'],
  ] as const)('must exist: %o', ([query, message]) => {
    expect(() => choose([begun!], query)).toThrow(message);
  });
});
