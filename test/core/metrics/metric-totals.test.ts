import { describe, expect, test } from 'vitest';
import { toExposition } from '../../../src/core/metrics/exposition.ts';
import { countEvents, noTotals } from '../../../src/core/metrics/metric-totals.ts';
import { CostReader } from '../../../src/core/report/cost-report.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { created, failed, journalOf, passed } from '../../support/journal.ts';

const usage = { requests: 2, inputTokens: 100, cachedTokens: 40, outputTokens: 10, costUsd: 0.25 };
const used = (story: string, model: string): JournalEntry => ({
  type: 'model.used',
  story,
  attempt: 1,
  model,
  told: 'all',
  usage,
  tokens: 110,
});

/** The series of these entries, by name with labels. */
function seriesOf(...entries: JournalEntry[]): Record<string, number> {
  const totals = noTotals();
  countEvents(totals, { seq: 0, metered: [] }, journalOf([created(), ...entries]));
  const lines = toExposition(totals, []).split('\n');
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name, value] = /^halo_(\S+) (\S+)$/.exec(line) ?? [];
      return name === undefined ? [] : [[name, Number(value)]];
    }),
  );
}

describe('the totals', () => {
  test('add up to the costs of the reports', () => {
    const entries = [
      ...passed('US-001').slice(0, -1),
      used('US-001', 'a'),
      used('US-001', 'b'),
      ...passed('US-001').slice(-1),
      ...failed('US-002'),
    ];
    const series = seriesOf(...entries);
    const reader = new CostReader();
    for (const event of journalOf([created(), ...entries])) reader.read(event);
    const costs = reader.costs();
    const sum = (pick: (each: (typeof costs)[number]) => number) => costs.map(pick).reduce((a, b) => a + b, 0);
    const total = (prefix: string) =>
      Object.entries(series)
        .flatMap(([name, value]) => (name.startsWith(prefix) ? [value] : []))
        .reduce((a, b) => a + b, 0);
    expect(total('cost_usd_total')).toBe(sum((each) => each.usage.costUsd ?? 0));
    expect(total('model_requests_total')).toBe(sum((each) => each.usage.requests));
    expect(series['tokens_total{model="a",type="output"}']).toBe(10);
    expect(series['story_landed_total']).toBe(1);
    expect(series['story_attempts_total{verdict="passed",stop_reason="SUCCESS"}']).toBe(1);
  });

  test('count each event once, however often and in whatever parts it is read', () => {
    const events = journalOf([created(), { type: 'run.started' }, ...passed('US-001'), used('US-002', 'a')]);
    const [once, again] = [noTotals(), noTotals()];
    countEvents(once, { seq: 0, metered: [] }, events);
    const run = { seq: 0, metered: [] };
    for (const end of [2, 4, 3, events.length]) countEvents(again, run, events.slice(0, end));
    expect(again).toEqual(once);
  });

  test('have at most 50 models, so that no repository can add series without end', () => {
    const series = seriesOf(...Array.from({ length: 80 }, (_, index) => used('US-001', `model-${index}`)));
    const models = Object.keys(series).filter((name) => name.startsWith('model_requests_total'));
    expect(models).toHaveLength(51);
    expect(series['model_requests_total{model="other"}']).toBe(60);
  });

  test('have durations in cumulative buckets', () => {
    const ended = (ms: number): JournalEntry => ({
      type: 'phase.ended',
      story: 'US-001',
      attempt: 1,
      phase: 'gates',
      ms,
    });
    const series = seriesOf(ended(200), ended(700), ended(9_000_000));
    const bucket = (le: string) => series[`phase_duration_seconds_bucket{phase="gates",le="${le}"}`];
    expect([bucket('0.25'), bucket('0.5'), bucket('1'), bucket('3600'), bucket('+Inf')]).toEqual([1, 1, 2, 2, 3]);
    expect(series['phase_duration_seconds_sum{phase="gates"}']).toBe(9000.9);
  });
});
