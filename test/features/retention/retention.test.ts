import { describe, expect, it } from 'vitest';
import { planRetention, type RunSize } from '../../../src/features/retention/core/retention.ts';

const NOW = new Date('2030-03-01T00:00:00Z');
const day = (ago: number) => new Date(NOW.getTime() - ago * 86_400_000).toISOString();
const run = (runId: string, ago: number | undefined, more: Partial<RunSize> = {}): RunSize => ({
  runId,
  endedAt: ago === undefined ? undefined : day(ago),
  artifactBytes: 100,
  otherBytes: 10,
  ...more,
});
const plan = (runs: RunSize[], limits: Parameters<typeof planRetention>[1]) =>
  planRetention(runs, limits, NOW).map(({ runId, what }) => `${what} ${runId}`);
const DAY = 86_400_000;
const RUNS = [run('open', undefined), run('a', 1), run('b', 10), run('c', 40), run('d', 400)];

describe('retention', () => {
  it('removes nothing without limits', () => {
    expect(plan(RUNS, {})).toEqual([]);
  });

  it('removes artifacts by age, the oldest first', () => {
    expect(plan(RUNS, { artifactsMs: 30 * DAY })).toEqual(['artifacts d', 'artifacts c']);
  });

  it('keeps the artifacts of the newest runs', () => {
    expect(plan(RUNS, { runs: 2 })).toEqual(['artifacts d', 'artifacts c']);
    expect(plan(RUNS, { runs: 0 })).toEqual(['artifacts d', 'artifacts c', 'artifacts b', 'artifacts a']);
  });

  it('removes whole runs by age, after all artifacts', () => {
    expect(plan(RUNS, { artifactsMs: 5 * DAY, journalsMs: 365 * DAY })).toEqual([
      'artifacts c',
      'artifacts b',
      'run d',
    ]);
  });

  it('removes artifacts of the oldest runs until the rest fits, and only then whole runs', () => {
    expect(plan(RUNS, { maxBytes: 550 })).toEqual([]);
    expect(plan(RUNS, { maxBytes: 400 })).toEqual(['artifacts d', 'artifacts c']);
    expect(plan(RUNS, { maxBytes: 135 })).toEqual(['artifacts b', 'artifacts a', 'run d', 'run c']);
    expect(plan(RUNS, { maxBytes: 115 })).toEqual(['run d', 'run c', 'run b', 'run a']);
  });

  it('removes no whole run for a size that the runs that must stay exceed', () => {
    expect(plan([run('open', undefined, { artifactBytes: 500 }), run('a', 1)], { maxBytes: 505 })).toEqual([
      'artifacts a',
    ]);
    expect(plan([run('open', undefined, { artifactBytes: 500 }), run('a', 1)], { maxBytes: 515 })).toEqual(['run a']);
  });

  it('leaves runs that have not ended, and those that are held back', () => {
    const held = RUNS.map((each) =>
      each.runId === 'd' ? { ...each, keptBecause: 'its commits have not landed' } : each,
    );
    expect(plan(held, { artifactsMs: 0, journalsMs: 0, runs: 0, maxBytes: 1 })).toEqual(['run c', 'run b', 'run a']);
  });

  it('does not remove artifacts twice', () => {
    expect(plan([run('a', 50, { artifactBytes: 0 })], { artifactsMs: DAY, runs: 0, maxBytes: 100 })).toEqual([]);
  });

  it('counts what it frees once', () => {
    const [removal] = planRetention([run('a', 50)], { artifactsMs: DAY, maxBytes: 1 }, NOW);
    expect(removal).toMatchObject({ what: 'run', bytes: 110 });
  });
});
