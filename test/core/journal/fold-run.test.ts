import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { applyEvent, foldRun } from '../../../src/core/journal/fold-run.ts';
import { workedMs, type RunState } from '../../../src/core/run/state.ts';
import {
  attempted,
  BASE,
  COMMIT,
  created,
  failed,
  journalOf,
  passed,
  stateOf,
  succeeded,
} from '../../support/journal.ts';

describe('the clock of a run', () => {
  const ref = { story: 'US-001', attempt: 1 };
  const wait = { ...ref, why: 'x', notBefore: '2030-01-01T01:00:00.000Z' };
  const retry = { class: 'provider', rule: 'wait', nth: 1, of: 3 } as const;
  const disturbed = { type: 'story.disturbed', ...ref, class: 'provider', stopReason: 'ENGINE_ERROR', summary: 'x' } as const; // prettier-ignore
  const start: JournalEntry[] = [
    { type: 'story.started', ...ref, epoch: 1, base: BASE },
    { type: 'phase.started', ...ref, phase: 'agent' },
  ];
  const again: JournalEntry = { type: 'story.started', ...ref, epoch: 2, base: BASE };

  it.each<[what: string, entries: JournalEntry[], seconds: number, runs: boolean]>([
    ['runs during an attempt', start, 100, true],
    ['runs between attempts', [...start, disturbed, { type: 'retry.scheduled', ...wait, ...retry }], 100, true],
    ['stops when a worker that ends hands the story back', [...start, { type: 'story.returned', ...ref }], 2, false],
    ['runs again with the next worker', [...start, { type: 'story.returned', ...ref }, again], 99, true],
    [
      'stops behind an open breaker',
      [...start, disturbed, { type: 'breaker.held', ...wait, key: 'provider:x' }],
      3,
      false,
    ],
    [
      'never runs for a story that a breaker holds before its first attempt',
      [{ type: 'breaker.held', ...wait, key: 'provider:x' }],
      0,
      false,
    ],
    [
      'stops at a pause, also with a story that failed before',
      [
        ...start,
        disturbed,
        { type: 'retry.scheduled', ...wait, ...retry },
        { type: 'run.paused', by: 'me', now: false },
      ],
      4,
      false,
    ],
    ['stops at the end of the run', [...start, { type: 'run.ended', stopReason: 'USER_ABORT', detail: 'x' }], 2, false],
  ])('%s', (_what, entries, seconds, runs) => {
    const state = stateOf(created('r1', 1), ...entries);
    // The story starts a second after the run is created.
    expect(workedMs(state, '2030-01-01T00:01:41.000Z') ?? 0).toBe(seconds * 1000);
    expect(state.worked?.since !== undefined).toBe(runs);
  });
});

describe('foldRun', () => {
  it('returns no state without events, or for events before the run was created', () => {
    expect(foldRun([])).toBeUndefined();
    expect(foldRun(journalOf([{ type: 'run.started' }]))).toBeUndefined();
  });

  it('starts with every story pending on the base commit', () => {
    const state = stateOf(created('r1', 2));
    expect(state).toMatchObject({ runId: 'r1', status: 'queued', tip: BASE, epoch: 0, seq: 1, maxAttempts: 2 });
    expect(state.stories.map(({ id, progress, attempts }) => [id, progress, attempts])).toEqual([
      ['US-001', 'pending', 0],
      ['US-002', 'pending', 0],
    ]);
  });

  it('orders stories: in progress first, then by priority, then as in the file', () => {
    const entry = created('r1', 5);
    if (entry.type !== 'run.created') throw new Error('unexpected');
    const [a, b, c, d, e] = entry.prd.stories;
    Object.assign(a ?? {}, { id: 'none', priority: undefined });
    Object.assign(b ?? {}, { id: 'second', priority: 2 });
    Object.assign(c ?? {}, { id: 'first', priority: 1 });
    Object.assign(d ?? {}, { id: 'second too', priority: 2 });
    Object.assign(e ?? {}, { id: 'begun', priority: 9, status: 'in_progress' });
    expect(stateOf(entry).stories.map(({ id }) => id)).toEqual(['begun', 'first', 'second', 'second too', 'none']);
  });

  it('orders a story’s dependencies before it at any priority, and accepts cycles', () => {
    const entry = created('r1', 5);
    if (entry.type !== 'run.created') throw new Error('unexpected');
    const [a, b, c, d, e] = entry.prd.stories;
    Object.assign(a ?? {}, { id: 'urgent', priority: 1, dependsOn: ['base', 'unknown'] });
    Object.assign(b ?? {}, { id: 'other', priority: 2 });
    Object.assign(c ?? {}, { id: 'base', priority: 9, dependsOn: ['ground'] });
    Object.assign(d ?? {}, { id: 'ground', priority: undefined, dependsOn: ['urgent'] });
    Object.assign(e ?? {}, { id: 'last', priority: 10, dependsOn: ['base', 'urgent'] });
    expect(stateOf(entry).stories.map(({ id }) => id)).toEqual(['ground', 'base', 'urgent', 'other', 'last']);
  });

  it('orders stories of runs without recorded dependencies', () => {
    const entry = created('r1', 2);
    if (entry.type !== 'run.created') throw new Error('unexpected');
    for (const story of entry.prd.stories) Reflect.deleteProperty(story, 'dependsOn');
    expect(stateOf(entry).stories).toHaveLength(2);
  });

  it('applies the status done, skipped or blocked of the PRD', () => {
    const entry = created('r1', 3);
    if (entry.type !== 'run.created') throw new Error('unexpected');
    (['done', 'skipped', 'blocked'] as const).forEach((status, index) =>
      Object.assign(entry.prd.stories[index] ?? {}, { status }),
    );
    expect(stateOf(entry).stories.map(({ progress }) => progress)).toEqual(['done', 'skipped', 'skipped']);
  });

  it('shows the phase of the running story, and removes it at its end', () => {
    const running = stateOf(created('r1', 1), { type: 'run.started' }, ...attempted('US-001'));
    expect(running.stories[0]).toMatchObject({ progress: 'in_progress', phase: 'gates', attempts: 1 });
    expect(stateOf(created('r1', 1), ...failed('US-001')).stories[0]).not.toHaveProperty('phase');
  });

  it('moves the tip with each passed story, and never with a failed one', () => {
    const state = stateOf(created('r1', 2), ...passed('US-001'), ...failed('US-002'));
    expect(state.tip).toBe(COMMIT);
    expect(state.stories[1]).toMatchObject({ progress: 'failed', stopReason: 'GATE_FAILED' });
    expect(stateOf(created('r1', 1), ...failed('US-001')).tip).toBe(BASE);
  });

  it('adds up the tokens of all attempts and keeps the newest epoch', () => {
    const state = stateOf(created('r1', 1), ...failed('US-001', 1), ...failed('US-001', 2));
    expect(state.usage).toEqual({ requests: 6, inputTokens: 24_690, cachedTokens: 8000, outputTokens: 1356 });
    expect(state.epoch).toBe(2);
    expect(state.stories[0]?.attempts).toBe(2);
  });

  it('ends with stop reason and time, and records where it was landed', () => {
    const landed: JournalEntry = { type: 'run.landed', branch: 'main', from: BASE, to: COMMIT };
    expect(stateOf(...succeeded('r1'), landed)).toMatchObject({
      status: 'ended',
      stopReason: 'SUCCESS',
      detail: '1 of 1 stories passed',
      landed: { branch: 'main', to: COMMIT },
    });
  });

  it('does not change the given state', () => {
    const events = journalOf(succeeded('r1'));
    let state: RunState | undefined;
    for (const event of events) {
      const before = structuredClone(state);
      const next = applyEvent(state, event);
      expect(state).toEqual(before);
      state = next;
    }
    expect(state).toEqual(foldRun(events));
  });
});

describe('locked tests', () => {
  const ref = { story: 'US-001', attempt: 1 };
  const files = [{ path: 'a.test.ts', blob: COMMIT }];
  const tests = { command: 'vitest {files}', files, cases: ['adds'] };
  const locked: JournalEntry = { type: 'tests.locked', ...ref, ...tests, base: BASE, commit: COMMIT };
  const storyAfter = (...entries: JournalEntry[]) =>
    stateOf(created('r1', 1), ...attempted('US-001'), locked, ...entries).stories[0]!;

  it('are kept for the next attempt, as those of the attempt that wrote them', () => {
    const again: JournalEntry = { ...locked, attempt: 2, from: 1 };
    const next = attempted('US-001', 2);
    expect(storyAfter().keptTests).toEqual({ ...tests, base: BASE, commit: COMMIT, attempt: 1 });
    expect(storyAfter(...next)).not.toHaveProperty('locked');
    expect(storyAfter(...next, again)).toMatchObject({ locked: tests, keptTests: { attempt: 1 } });
  });

  it('are not kept once others are written, the text of the story changes, or a user asks for new ones', () => {
    const { prd } = created('r1', 1);
    const replanned: JournalEntry = { type: 'run.replanned', by: 'a', prd, prdPath: 'p', changed: ['US-001'] };
    const retried: JournalEntry = { type: 'run.retried', by: 'a', stories: ['US-001'], newTests: true };
    for (const entry of [{ type: 'phase.started' as const, ...ref, phase: 'tests' as const }, replanned, retried])
      expect(storyAfter(...failed('US-001').slice(-1), entry)).not.toHaveProperty('keptTests');
  });

  it('are kept if a user only retries the story, or another story changes', () => {
    const { prd } = created('r1', 1);
    const replanned: JournalEntry = { type: 'run.replanned', by: 'a', prd, prdPath: 'p', changed: [] };
    const retried: JournalEntry = { type: 'run.retried', by: 'a', stories: ['US-001'] };
    for (const entry of [replanned, retried])
      expect(storyAfter(...failed('US-001').slice(-1), entry)).toHaveProperty('keptTests');
  });
});

describe('commands and pauses', () => {
  const ref = { story: 'US-001', attempt: 1 };
  const until = '2030-01-01T05:00:00.000Z';

  it('a cancelled story says why, or else who cancelled it', () => {
    const summaryOf = (more: { why?: string }) =>
      stateOf(created('r1'), { type: 'story.cancelled', ...ref, by: 'ann', ...more }).stories[0]?.summary;
    expect([summaryOf({}), summaryOf({ why: 'its issue was closed' })]).toEqual([
      'cancelled by ann',
      'its issue was closed',
    ]);
  });

  it('a new PRD retries no failed story that it does not change, and brings removed stories back', () => {
    const { prd } = created('r1', 2);
    const planned = (stories: typeof prd.stories): JournalEntry => {
      return { type: 'run.replanned', by: 'ann', prd: { ...prd, stories }, prdPath: 'p', changed: [] };
    };
    const { stories } = stateOf(
      ...[created('r1', 2), ...failed('US-001'), planned(prd.stories.slice(0, 1)), planned(prd.stories)],
    );
    expect(stories).toMatchObject([{ progress: 'failed', attempts: 1 }, { progress: 'pending' }]);
    expect(stories[0]).not.toHaveProperty('forgiven');
  });

  it('a pause of a model stops the run, and a pause of a key replaces only that of the same key and model', () => {
    const paused = (key: number, model: string, why: 'provider' | 'rate'): JournalEntry => {
      return { type: 'key.paused', ...ref, model, key, of: 2, source: 'KEY', why, until } as JournalEntry;
    };
    const keys = [paused(1, 'a', 'rate'), paused(2, 'a', 'rate'), paused(1, 'b', 'rate'), paused(1, 'a', 'provider')];
    const state = stateOf(created('r1'), { type: 'model.paused', ...ref, model: 'a', why: 'rate', until }, ...keys);
    expect(state.modelPause).toEqual({ model: 'a', why: 'rate', until });
    expect(state.keyPauses?.map(({ key, model, why }) => [key, model, why])).toEqual([
      [2, 'a', 'rate'],
      [1, 'b', 'rate'],
      [1, 'a', 'provider'],
    ]);
  });

  it('a gate that passes does not replace the log of the one that failed', () => {
    const gate = { type: 'gate.ended' as const, ...ref, command: 'npm test', ms: 1 };
    const state = stateOf(
      ...[created('r1'), ...attempted('US-001')],
      ...[
        { ...gate, exitCode: 1, log: 'gates/1.log' },
        { ...gate, exitCode: 0, log: 'gates/2.log' },
      ],
    );
    expect(state.stories[0]?.failedLog).toBe('gates/1.log');
  });

  it('a gate that was interrupted is not the failed one of its story', () => {
    const gate = { type: 'gate.ended' as const, ...ref, command: 'npm test', ms: 1, log: 'gates/1.log' };
    const stopped = { ...gate, exitCode: undefined, interrupted: true as const };
    expect(stateOf(created('r1'), ...attempted('US-001'), stopped).stories[0]?.failedLog).toBeUndefined();
  });

  it('a new number of attempts applies to the run', () => {
    const change: JournalEntry = { type: 'run.reconfigured', by: 'ann', set: ['attempts'], change: {} };
    expect(stateOf(created('r1'), { ...change, attempts: 7 }).maxAttempts).toBe(7);
    expect(stateOf(created('r1'), change).maxAttempts).toBe(2);
  });
});
