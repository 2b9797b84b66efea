import { describe, expect, it } from 'vitest';
import { NO_USAGE } from '../../../src/core/agent.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { usesOf } from '../../../src/features/reports/core/budget-report.ts';
import { groupQuality, resultsOf } from '../../../src/features/reports/core/quality-report.ts';
import { attempted, created, failed, held, journalOf, passed } from '../../support/journal.ts';

const CHEAP = { requests: 1, inputTokens: 10, cachedTokens: 0, outputTokens: 5 };

function used(story: string, attempt: number, costUsd: number): JournalEntry {
  const usage = { ...CHEAP, costUsd };
  return { type: 'model.used', story, attempt, model: 'gpt-5', told: 'all', usage, tokens: 15 };
}

/** The attempt that the helpers describe, with a model request of this cost. */
function withCost(entries: JournalEntry[], costUsd: number): JournalEntry[] {
  const [start, ...rest] = entries;
  if (start?.type !== 'story.started') throw new Error('The first event must be story.started.');
  return [start, used(start.story, start.attempt, costUsd), ...rest];
}

const again = (story: string): JournalEntry[] =>
  passed(story).map((entry) => ('attempt' in entry ? { ...entry, attempt: 2 } : entry));

describe('the results of stories', () => {
  it('count first attempts, attempts and the cost of failed attempts for each passed story', () => {
    const events = journalOf([
      { ...created('run1', 3), user: 'ada' },
      { type: 'run.started' },
      ...withCost(passed('US-001'), 1),
      ...withCost(failed('US-002'), 2),
      ...withCost(again('US-002'), 3),
      ...withCost(failed('US-003'), 4),
      ...withCost(failed('US-003', 2), 5),
    ]);
    const report = groupQuality(resultsOf(events), 'user');
    const sum = { stories: 3, landed: 2, firstPass: 1, attempts: 5, landedMetered: 2, costPerLanded: 7.5 };
    expect(report.total).toMatchObject(sum);
    expect(report.rows).toMatchObject([{ key: 'ada', ...sum }]);
    // A second for each event, from the first one.
    const ends = events.filter(({ type }) => type === 'story.ended').map(({ seq }) => seq - 1);
    expect(report.total.minutesToLand).toBeCloseTo((ends[0] ?? 0) / 60);
  });

  it('have a cost per passed story of metered stories only', () => {
    const result = { runId: 'r', story: 's', repo: 'a', user: 'me', day: '2030-01-01', landed: true, attempts: 1 };
    const results = [
      { ...result, costUsd: 3 },
      { ...result, landed: false, costUsd: 1 },
      ...Array.from({ length: 3 }, () => ({ ...result, model: 'local' })),
    ];
    expect(groupQuality(results, 'repo').total).toMatchObject({ landed: 4, landedMetered: 1, costPerLanded: 4 });
    expect(groupQuality(results.slice(2), 'repo').total).not.toHaveProperty('costPerLanded');
    // The cost of a failed story alone is not a cost per passed story.
    expect(groupQuality(results.slice(1), 'repo').total).not.toHaveProperty('costPerLanded');
  });

  it('have the model of the last attempt, and the median time of those that landed', () => {
    expect(resultsOf(journalOf([created('run1', 1), ...withCost(passed('US-001'), 1)]))).toMatchObject([
      { model: 'gpt-5' },
    ]);
    const result = { runId: 'r', story: 's', repo: 'a', user: 'me', day: '2030-01-01', landed: true, attempts: 1 };
    const results = [9, 10, 2].map((minutes) => ({ ...result, msToLand: minutes * 60_000 }));
    expect(groupQuality(results, 'repo').total.minutesToLand).toBe(9);
    expect(groupQuality([...results].reverse().slice(1), 'repo').total.minutesToLand).toBe(9);
  });

  it('have no cost if one of the models of an attempt has no price', () => {
    const unpriced = (tokens: number): JournalEntry => ({
      ...{ type: 'model.used', story: 'US-001', attempt: 1, model: 'local', told: 'all', tokens },
      usage: tokens === 0 ? { ...NO_USAGE, requests: 1 } : CHEAP,
    });
    const totalOf = (tokens: number) => {
      const [start, ...rest] = withCost(passed('US-001'), 0.01);
      return groupQuality(resultsOf(journalOf([created('run1', 1), start!, unpriced(tokens), ...rest])), 'repo').total;
    };
    expect(totalOf(15)).toMatchObject({ landed: 1, landedMetered: 0 });
    expect(totalOf(15)).not.toHaveProperty('costPerLanded');
    // A request that the provider refused costs nothing.
    expect(totalOf(0)).toMatchObject({ landedMetered: 1, costPerLanded: 0.01 });
  });

  it('leave out stories that may still land, dry runs, and what ended before the period', () => {
    const open = journalOf([created('run1', 2), ...held('US-001'), ...attempted('US-002')]);
    expect(resultsOf(open)).toEqual([]);
    const ended = [created('run1', 1), ...passed('US-001')] as const;
    expect(resultsOf(journalOf(ended))).toHaveLength(1);
    expect(resultsOf(journalOf(ended), '2031-01-01')).toEqual([]);
    const [first, ...rest] = ended;
    expect(resultsOf(journalOf([{ ...first, dry: true }, ...rest]))).toEqual([]);
  });

  it('have no cost per passed story without prices, and no time without a passed story', () => {
    const { total } = groupQuality(resultsOf(journalOf([created('run1', 1), ...failed('US-001')])), 'repo');
    expect(total).toEqual({ stories: 1, landed: 0, firstPass: 0, attempts: 1, landedMetered: 0 });
  });

  it('are sorted by day, or by the number of stories', () => {
    const result = { runId: 'r', story: 's', user: 'me', landed: true, attempts: 1 };
    const results = [
      { ...result, repo: 'b', day: '2030-01-02' },
      { ...result, repo: 'a', day: '2030-01-01' },
      { ...result, repo: 'b', day: '2030-01-03' },
    ];
    expect(groupQuality(results, 'repo').rows.map(({ key }) => key)).toEqual(['b', 'a']);
    expect(groupQuality(results, 'day').rows.map(({ key }) => key.slice(-1))).toEqual(['1', '2', '3']);
  });
});

describe('the budgets of a day', () => {
  it('are listed with what is spent, the fullest first', () => {
    const cost = { runId: 'r', story: 's', attempt: 1, day: '2030-01-01' };
    const costs = [
      { ...cost, repo: '/shop', user: 'ada', usage: { ...CHEAP, costUsd: 4 } },
      { ...cost, repo: '/blog', user: 'ben', usage: { ...CHEAP, costUsd: 1 } },
    ];
    const uses = usesOf(costs, { dayUsd: 10, dayTokens: 60, userUsd: 5 });
    expect(uses.map(({ scope, name, unit, spent, limit }) => [scope, name, unit, spent, limit])).toEqual([
      ['user', 'ada', 'usd', 4, 5],
      ['day', undefined, 'usd', 5, 10],
      ['day', undefined, 'tokens', 30, 60],
      ['user', 'ben', 'usd', 1, 5],
    ]);
  });
});
