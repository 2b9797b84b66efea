import { describe, expect, it } from 'vitest';
import { describeHolds, findIssueHold } from '../../../src/features/issues/api/select-issues.ts';
import type { RunState, StoryState } from '../../../src/core/run/state.ts';

const NAMES = { label: 'halo' };
const issue = (number: number, ...labels: string[]) => ({
  number,
  title: '',
  body: '',
  labels: ['halo', ...labels],
  isClosed: false,
});
const run = (runId: string, story: Partial<StoryState>, more: Partial<RunState> = {}) =>
  ({
    runId,
    status: 'ended',
    createdAt: '2026-03-01T00:00:00Z',
    tip: 'tip',
    stories: [{ id: '#7', progress: 'pending', ...story }],
    ...more,
  }) as RunState;
const held = { held: { commit: 'c' } } as unknown as Partial<StoryState>;

describe('an issue', () => {
  it('is free if no run worked on it and it has no label of a status', () => {
    expect(findIssueHold(issue(8), [run('r1', { progress: 'passed' })], NAMES)).toBeUndefined();
    expect(findIssueHold(issue(7, 'halo:failed', 'halo:p1'), [], NAMES)).toBeUndefined();
  });

  it('is held by the run that landed it, with the time', () => {
    const endedAt = '2026-03-02T00:00:00Z';
    const landed = run('r1', { progress: 'passed', endedAt });
    expect(findIssueHold(issue(7), [landed], NAMES)).toEqual({ kind: 'landed', runId: 'r1', at: endedAt });
    // A later run continued from there, and has it as done.
    const later = run('r2', { progress: 'done' });
    expect(findIssueHold(issue(7), [later, landed], NAMES)).toMatchObject({ runId: 'r1' });
  });

  it('is held by an open run in any state of its story, except a cancelled one', () => {
    const open = { status: 'running' } as const;
    for (const progress of ['pending', 'in_progress', 'failed', 'needs_human'] as const)
      expect(findIssueHold(issue(7), [run('r1', { progress }, open)], NAMES)).toEqual({
        kind: 'open',
        runId: 'r1',
        status: 'running',
      });
    expect(findIssueHold(issue(7), [run('r1', { progress: 'cancelled' }, open)], NAMES)).toBeUndefined();
  });

  it('is held by an ended run in which it waits for approval, but not by one in which it failed', () => {
    const waiting = run('r1', { progress: 'needs_human', ...held });
    expect(findIssueHold(issue(7), [waiting], NAMES)).toEqual({ kind: 'waiting', runId: 'r1' });
    for (const progress of ['failed', 'pending', 'needs_human'] as const)
      expect(findIssueHold(issue(7), [run('r1', { progress })], NAMES)).toBeUndefined();
  });

  it('is free after its result was rejected, whatever its labels are', () => {
    const decision = { verdict: 'rejected', by: 'x', tip: 'tip' } as const;
    const rejected = run('r2', { progress: 'passed' }, { decision });
    expect(findIssueHold(issue(7, 'halo:done'), [rejected, run('r1', { progress: 'passed' })], NAMES)).toBeUndefined();
  });

  it('is free if the newest run that worked on it failed, although an older one landed it', () => {
    const runs = [run('r2', { progress: 'failed' }), run('r1', { progress: 'passed' })];
    expect(findIssueHold(issue(7), runs, NAMES)).toBeUndefined();
  });

  it('is held by a label of halo that says that it runs, waits or is done, under its configured name', () => {
    for (const label of ['halo:done', 'halo:in-progress', 'halo:waiting'])
      expect(findIssueHold(issue(7, label), [run('r1', { progress: 'failed' })], NAMES)).toEqual({
        kind: 'labelled',
        label,
      });
    const names = { label: 'halo', labels: { landed: 'review' } };
    expect(findIssueHold(issue(7, 'review'), [], names)).toEqual({ kind: 'labelled', label: 'review' });
    expect(findIssueHold(issue(7, 'halo:done'), [], names)).toBeUndefined();
  });
});

describe('the description of held issues', () => {
  it('names them by what holds them, and is bounded', () => {
    const landed = { kind: 'landed', runId: 'r1', at: '' } as const;
    const open = { kind: 'open', runId: 'r2', status: 'queued' } as const;
    expect(
      describeHolds([
        { number: 7, hold: landed },
        { number: 8, hold: open },
        { number: 9, hold: landed },
        { number: 10, hold: { kind: 'labelled', label: 'halo:done' } },
        { number: 11, hold: { kind: 'waiting', runId: 'r3' } },
      ]),
    ).toBe(
      '#7, #9 (done by run r1), #8 (in run r2, which is queued), #10 (label "halo:done"), #11 (waiting for approval in run r3)',
    );
    const many = Array.from({ length: 1000 }, (_, number) => ({
      number,
      hold: { ...landed, runId: `r${number % 20}` },
    }));
    expect(describeHolds(many).length).toBeLessThan(400);
  });
});
