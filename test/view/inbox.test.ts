import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../src/core/journal/events.ts';
import { awaitsPerson } from '../../src/core/run/state.ts';
import { asksPerson, INBOX_KINDS, inboxContent, inboxItems, inboxLabel, type InboxKind } from '../../src/view/inbox.ts';
import { asked, attempted, created, failed, held, passed, stateOf, succeeded } from '../support/journal.ts';

const SUMMARY = 'raise budget.story_usd to continue.';
const overBudget = failed('US-001').map((entry) =>
  entry.type === 'story.ended' ? { ...entry, stopReason: 'BUDGET_EXCEEDED', summary: SUMMARY } : entry,
) as JournalEntry[];
const ended = (stopReason: 'BUDGET_EXCEEDED' | 'CIRCUIT_OPEN'): JournalEntry => ({
  ...{ type: 'run.ended', stopReason, detail: '' },
});

describe('what waits for a person', () => {
  it.each<[string, JournalEntry[], [InboxKind, string][]]>([
    ['a commit to approve', [created('r1', 1), ...held('US-001')], [['approval', 'the gates pass, but']]],
    ['a result to land', succeeded('r1'), [['land', '1/1 stories, not on your branch yet']]],
    ['an exhausted budget', [created('r1', 1), ...overBudget, ended('BUDGET_EXCEEDED')], [['budget', SUMMARY]]],
    [
      'an open breaker',
      [created('r1', 2), ...failed('US-001'), { type: 'breaker.opened', reason: '3 failures' }, ended('CIRCUIT_OPEN')],
      [['breaker', '3 failures']],
    ],
    ['nothing of a run that works', [created('r1', 2), ...passed('US-001')], []],
  ])('is %s', (_what, entries, expected) => {
    const run = stateOf(...entries);
    const found = inboxItems(run, [run]);
    expect(found.map(({ kind }) => kind)).toEqual(expected.map(([kind]) => kind));
    for (const [index, [, text]] of expected.entries()) expect(found[index]?.text).toContain(text);
  });

  it('is not the exhausted budget of a run that a newer run of its PRD continues', () => {
    const run = stateOf(created('r1', 1), ...overBudget, ended('BUDGET_EXCEEDED'));
    const newer = { ...stateOf(created('r2', 1)), createdAt: '2031-01-01T00:00:00.000Z' };
    expect(inboxItems(run, [newer, run])).toEqual([]);
  });

  it('is not the question of a run that was cancelled, which can no longer be answered', () => {
    const entries = [created('r1', 2), ...asked('US-001').slice(0, -1), ...attempted('US-002')];
    const open = stateOf(...entries);
    expect([inboxItems(open, [open]).map(({ kind }) => kind), awaitsPerson(open)]).toEqual([['answer'], true]);
    const cancelled = stateOf(...entries, { type: 'run.ended', stopReason: 'USER_ABORT', detail: '' });
    expect([inboxItems(cancelled, [cancelled]), awaitsPerson(cancelled)]).toEqual([[], false]);
  });

  it('has a sign, and only questions and approvals are what a run cannot continue without', () => {
    const kinds: InboxKind[] = ['answer', 'approval', 'breaker', 'budget', 'engine', 'land'];
    expect(kinds.map(inboxLabel)).toEqual(['? answer', '? approval', '! breaker', '! budget', '! engine', '+ land']);
    expect(INBOX_KINDS.filter((kind) => kind !== 'engine' && asksPerson({ kind }))).toEqual(['answer', 'approval']);
    expect(kinds).toEqual(INBOX_KINDS);
    expect(inboxContent({ all: false })).toBe(
      'questions of stories, commits and results to approve, open circuit breakers, exhausted budgets, and engines that take no stories',
    );
  });
});
