import { describe, expect, test } from 'vitest';
import { toExposition } from '../../../src/features/telemetry/core/exposition.ts';
import { countEvents, modelLabels, noTotals } from '../../../src/features/telemetry/core/metric-totals.ts';
import { CostReader } from '../../../src/features/reports/core/cost-report.ts';
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
    expect(series['story_attempts_total{verdict="passed",stop_reason="SUCCESS",agent="-",class="-"}']).toBe(1);
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

  test('have the agent of an attempt, and the class of its failure', () => {
    const entries = failed('US-001').map((entry): JournalEntry => {
      if (entry.type === 'phase.started' && entry.phase === 'agent')
        return { type: 'agent.launched', story: 'US-001', attempt: 1, agent: 'codex' };
      return entry;
    });
    const series = seriesOf(...entries, ...passed('US-001'));
    expect(series['story_attempts_total{verdict="failed",stop_reason="GATE_FAILED",agent="codex",class="gate"}']).toBe(
      1,
    );
    expect(series['story_attempts_total{verdict="passed",stop_reason="SUCCESS",agent="-",class="-"}']).toBe(1);
  });

  test('have how long stories waited for a worker, by what delayed them before', () => {
    const ref = { story: 'US-001', attempt: 1 };
    const notBefore = '2030-01-01T00:00:00.000Z';
    const started = (queuedMs?: number): JournalEntry => ({
      ...{ type: 'story.started', ...ref, epoch: 1, base: '' },
      ...(queuedMs !== undefined && { queuedMs }),
    });
    const held: JournalEntry = { type: 'breaker.held', ...ref, key: 'provider:a', why: '', notBefore };
    const postponed: JournalEntry = { type: 'story.postponed', ...ref, model: 'a', by: 'rate', why: '', notBefore };
    const retried: JournalEntry = {
      ...{ type: 'retry.scheduled', ...ref, class: 'gate', rule: 'hint' },
      ...{ nth: 1, of: 2, notBefore, why: '' },
    };
    const series = seriesOf(held, started(400), started(20), postponed, started(3_000), retried, started(), started(7));
    const counts = ['new', 'retry', 'model', 'breaker'].map(
      (reason) => series[`queue_wait_seconds_count{reason="${reason}"}`],
    );
    expect(counts).toEqual([2, undefined, 1, 1]);
    expect(series['queue_wait_seconds_sum{reason="model"}']).toBe(3);
    expect(series['queue_wait_seconds_bucket{reason="breaker",le="0.5"}']).toBe(1);
  });

  test('have the requests of sandboxes by kind and outcome, and nothing of their targets', () => {
    const asked = (route: 'model' | 'registry', outcome: 'served' | 'refused', count: number): JournalEntry => ({
      ...{ type: 'network.asked', story: 'US-001', attempt: 1, phase: 'agent', route, outcome, count },
      ...{ method: 'GET', target: '/secret/path', status: 200, bytes: 0 },
    });
    const series = seriesOf(asked('model', 'served', 3), asked('model', 'refused', 1), asked('registry', 'served', 2));
    expect(Object.entries(series).filter(([name]) => name.startsWith('gateway_requests_total'))).toEqual([
      ['gateway_requests_total{kind="model",phase="agent",outcome="refused"}', 1],
      ['gateway_requests_total{kind="model",phase="agent",outcome="served"}', 3],
      ['gateway_requests_total{kind="registry",phase="agent",outcome="served"}', 2],
    ]);
  });
});

test('count snapshots by whether they were made, and breakers only when they open', () => {
  const ref = { story: 'US-001', attempt: 1 };
  const snapshot = { type: 'snapshot.used', ...ref, phase: 'setup', key: 'k', digest: 'd', mode: 'copy' } as const;
  const breaker = { type: 'breaker.changed', ...ref, key: 'provider:a' } as const;
  const entries = [
    snapshot,
    { ...snapshot, made: true as const },
    snapshot,
    { ...breaker, status: 'open' as const },
    { ...breaker, status: 'open' as const },
  ];
  const series = seriesOf(...(entries as JournalEntry[]), { ...breaker, status: 'closed' } as unknown as JournalEntry);
  expect(Object.entries(series).filter(([name]) => /^(?:snapshots|breakers)_/.test(name))).toEqual([
    ['snapshots_total{use="hit"}', 2],
    ['snapshots_total{use="made"}', 1],
    ['breakers_opened_total', 2],
  ]);
});

test('name the models that are known', () => {
  const totals = noTotals();
  countEvents(totals, { seq: 0, metered: [] }, journalOf([created(), ...failed('US-002'), used('US-001', 'a')]));
  expect(modelLabels(totals)).toEqual(['a']);
});
