import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../src/core/events.ts';
import { planNext } from '../../src/core/plan.ts';
import { foldRun, type RunState } from '../../src/core/run-state.ts';
import { NO_USAGE } from '../../src/core/agent.ts';
import { attempted, COMMIT, created, failed, held, passed } from '../support/sample-run.ts';

function stateAfter(...entries: JournalEntry[]): RunState {
  const state = foldRun(
    entries.map((entry, index) => ({ v: 1, seq: index + 1, at: '2030-01-01T00:00:00Z', ...entry })),
  );
  if (state === undefined) throw new Error('no state');
  return state;
}

function plan(...entries: JournalEntry[]) {
  const next = planNext(stateAfter(...entries));
  return next.kind === 'attempt' ? [next.story.id, next.attempt] : [next.stopReason, next.detail];
}

describe('planNext', () => {
  it('begins with the first story and goes on when one has landed', () => {
    expect(plan(created('r', 2))).toEqual(['US-001', 1]);
    expect(plan(created('r', 2), ...passed('US-001'))).toEqual(['US-002', 1]);
  });

  it('tries a failed story again before any other, until its attempts are used up', () => {
    expect(plan(created('r', 2), ...failed('US-001'))).toEqual(['US-001', 2]);
    expect(plan(created('r', 2), ...failed('US-001'), ...failed('US-001', 2))).toEqual([
      'ATTEMPTS_EXHAUSTED',
      'US-001: npm test exited with 1 (GATE_FAILED, 2 attempts)',
    ]);
  });

  it('waits for a person where a commit is held, and goes on or ends by their word', () => {
    const waiting = [created('r', 2), { type: 'run.started' as const }, ...held('US-001')];
    const word = { story: 'US-001', attempt: 1, commit: COMMIT };
    expect(plan(...waiting)[0]).toBe('NEEDS_HUMAN');
    expect(plan(...waiting, { type: 'story.approved', ...word })).toEqual(['US-002', 1]);
    expect(plan(...waiting, { type: 'story.rejected', ...word, reason: 'no' })).toEqual([
      'APPROVAL_DENIED',
      'US-001: no',
    ]);
    const approved = stateAfter(...waiting, { type: 'story.approved', ...word });
    expect(approved).toMatchObject({
      status: 'queued',
      tip: COMMIT,
      stories: [{ progress: 'passed', commit: COMMIT }, {}],
    });
    expect(approved.stories[0]).not.toHaveProperty('held');
    expect(approved).not.toHaveProperty('stopReason');
    // A word on another commit, or a second one, changes nothing.
    expect(plan(...waiting, { type: 'story.approved', ...word, commit: '9'.repeat(40) })[0]).toBe('NEEDS_HUMAN');
    expect(
      plan(...waiting, { type: 'story.approved', ...word }, { type: 'story.rejected', ...word, reason: 'no' }),
    ).toEqual(['US-002', 1]);
  });

  it('takes up a story that was left in the middle at no cost of an attempt', () => {
    expect(plan(created('r', 2), ...attempted('US-001'))).toEqual(['US-001', 1]);
  });

  it('ends with the reason itself when only one attempt is allowed', () => {
    const state = { ...stateAfter(created('r', 1), ...failed('US-001')), maxAttempts: 1 };
    expect(planNext(state)).toMatchObject({ kind: 'end', stopReason: 'GATE_FAILED' });
  });

  it('stops for a person, with the question', () => {
    const asked: JournalEntry = {
      type: 'story.ended',
      story: 'US-001',
      attempt: 1,
      verdict: 'needs_human',
      stopReason: 'NEEDS_HUMAN',
      summary: 'Which color?',
      usage: NO_USAGE,
    };
    expect(plan(created('r', 2), ...attempted('US-001'), asked)).toEqual(['NEEDS_HUMAN', 'US-001: Which color?']);
  });

  it('ends with success when all have landed', () => {
    expect(plan(created('r', 2), ...passed('US-001'), ...passed('US-002'))).toEqual([
      'SUCCESS',
      '2 of 2 stories landed',
    ]);
  });

  it.each([
    ['done', 'SUCCESS'],
    ['blocked', 'NOTHING_RUNNABLE'],
    ['skipped', 'NOTHING_RUNNABLE'],
  ])('ends at once when every story is %s', (status, stopReason) => {
    const entry = created('r', 2);
    if (entry.type !== 'run.created') throw new Error('unexpected');
    for (const story of entry.prd.stories) Object.assign(story, { status });
    expect(plan(entry)[0]).toBe(stopReason);
  });
});
