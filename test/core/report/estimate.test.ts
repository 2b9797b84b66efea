import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { estimateStories, estimateSum } from '../../../src/core/report/estimate.ts';
import { samplesOf, type StorySample } from '../../../src/core/report/story-samples.ts';
import { attempted, created, failed, journalOf, passed } from '../../support/journal.ts';

const RUN = '0tbq1aaaaaaaaaaa';
const END: JournalEntry = { type: 'run.ended', stopReason: 'SUCCESS', detail: '' };

const used = (story: string, attempt: number, costUsd?: number): JournalEntry => ({
  ...{ type: 'model.used', story, attempt, model: 'large', told: 'all', tokens: 1 },
  usage: { requests: 1, inputTokens: 1, cachedTokens: 0, outputTokens: 1, ...(costUsd !== undefined && { costUsd }) },
});
/** The attempt, with a response of a model before its end. */
const paid = (attempt: JournalEntry[], cost?: number): JournalEntry[] => {
  const end = attempt.at(-1);
  if (end?.type !== 'story.ended') throw new Error('The attempt has no end.');
  return [...attempt.slice(0, -1), used(end.story, end.attempt, cost), end];
};
const samples = (...entries: JournalEntry[]) => samplesOf(journalOf(entries));

describe('the samples of a run', () => {
  const start = { ...created(RUN, 3), agent: 'codex' };
  const second = passed('US-001').map((entry) => ('attempt' in entry ? { ...entry, attempt: 2 } : entry));
  const stories = [...paid(failed('US-001'), 0.5), ...paid(second, 0.25), ...paid(failed('US-002'), 2)];

  it('have the cost and time of all attempts at a story, and whether it landed', () => {
    expect(samples(start, ...stories, END)).toEqual([
      { runId: RUN, landed: true, agent: 'codex', model: 'large', minutes: 26 / 60, costUsd: 0.75 },
      { runId: RUN, landed: false, agent: 'codex', model: 'large', minutes: 13 / 60, costUsd: 2 },
    ]);
  });

  it('are of the agent and the model that were started last', () => {
    const launched: JournalEntry = {
      ...{ type: 'agent.launched', story: 'US-002', attempt: 1 },
      agent: 'claude',
      model: 'x',
    };
    const found = samples(start, ...attempted('US-002'), launched, ...paid(failed('US-002'), 1).slice(-3), END);
    expect(found).toMatchObject([{ agent: 'claude', model: 'x' }]);
  });

  it('have no cost if a part of it is not known', () => {
    const [sample] = samples(start, ...paid(failed('US-001'), 0.5), ...paid(second), END);
    expect(sample).not.toHaveProperty('costUsd');
  });

  it('do not exist for a run that has not ended, a dry run, and stories without a verdict', () => {
    expect(samples(start, ...stories)).toEqual([]);
    expect(samples({ ...start, dry: true }, ...stories, END)).toEqual([]);
    expect(samples({ ...start, dry: true, planning: true }, ...stories, END)).toEqual([]);
    expect(samples(start, ...attempted('US-001'), END)).toEqual([]);
  });
});

describe('an estimate', () => {
  const history = (agent: string, costs: readonly number[], model = 'large'): StorySample[] =>
    costs.map((costUsd, index) => ({
      runId: `${agent}${index}`,
      landed: index > 0,
      agent,
      model,
      minutes: 1,
      costUsd,
    }));
  const fewOf = (stories: number) => `Rough estimate: only ${stories} earlier stories.`;
  const CODEX = history('codex', [1, 2, 3, 4, 5]);
  const CLAUDE = history('claude', [100, 100, 100]);

  it('has the percentiles of one story and of the sum, and says what it is based on', () => {
    const { basis, costUsd, minutes, notes } = estimateStories(CODEX, { stories: 10 });
    expect(basis).toEqual({ stories: 5, landed: 4, runs: 5 });
    expect(costUsd?.story).toEqual({ low: 1.4, median: 3, high: 4.6 });
    expect(minutes).toEqual({ story: { low: 1, median: 1, high: 1 }, sum: { low: 10, median: 10, high: 10 } });
    const { low, median, high } = costUsd!.sum;
    expect(Math.abs(median - 30)).toBeLessThan(3);
    expect([low > 10, low < median, median < high, high < 50]).toEqual([true, true, true, true]);
    expect(notes).toEqual([fewOf(5)]);
    expect(estimateStories([...CODEX, ...CODEX], { stories: 10 }).notes).toEqual([]);
  });

  it('has a range that contains about eight of ten sums of later stories', () => {
    // The prices of stories are skewed: most are cheap, some are expensive.
    const price = (index: number) => Math.exp(Math.sin(index * 12.9898) * 1.5);
    let inside = 0;
    for (let trial = 0; trial < 200; trial += 1) {
      const values = (from: number, length: number) => Array.from({ length }, (_, index) => price(from + index));
      const { sum } = estimateSum(values(trial * 50, 30), 10);
      const actual = values(trial * 50 + 30, 10).reduce((total, each) => total + each, 0);
      if (sum.low <= actual && actual <= sum.high) inside += 1;
    }
    expect(inside).toBeGreaterThan(200 * 0.7);
    expect(inside).toBeLessThan(200 * 0.97);
  });

  it('is wider after a short history, and the same each time', () => {
    const width = (values: number[]) => {
      const { low, high } = estimateSum(values, 20).sum;
      return high - low;
    };
    const long = Array.from({ length: 50 }, (_, index) => (index % 5) + 1);
    expect(width([1, 2, 3, 4, 5])).toBeGreaterThan(1.3 * width(long));
    expect(estimateSum(long, 7)).toEqual(estimateSum(long, 7));
  });

  it('is drawn with the same generator in each version, less often for many stories', () => {
    const sumOf = (count: number) => estimateSum([1, 2, 4, 8, 16], count).sum;
    expect([2_000, 20_000].map(sumOf)).toEqual([
      { low: 6434.8, median: 12357.5, high: 19340.8 },
      { low: 60468.6, median: 118191.5, high: 191544 },
    ]);
  });

  it('counts only stories of the same model, or of the same agent, if there are enough', () => {
    const small = history('codex', [7, 7, 7, 7, 7], 'small');
    const all = [...CODEX, ...small, ...CLAUDE];
    const estimate = (agent: string, model?: string) => estimateStories(all, { stories: 1, agent, model });
    expect(estimate('codex', 'small').basis).toMatchObject({ stories: 5, agent: 'codex', model: 'small' });
    expect(estimate('codex', 'small').costUsd?.sum).toEqual({ low: 7, median: 7, high: 7 });
    expect(estimate('codex').notes).toEqual([]);
    expect(estimate('codex', 'new')).toMatchObject({
      basis: { stories: 10, agent: 'codex' },
      notes: ['Fewer than 5 stories were run with new, so those of all models count.'],
    });
    expect(estimate('claude', 'large')).toMatchObject({
      basis: { stories: 13, landed: 10 },
      notes: ['Fewer than 5 stories were run with claude, so those of all agents count.'],
    });
  });

  it('needs three stories, and three known costs for the cost', () => {
    const few = estimateStories(CODEX.slice(0, 2), { stories: 1, agent: 'codex' });
    expect(few).toEqual({
      stories: 1,
      basis: { stories: 2, landed: 1, runs: 2 },
      notes: ['An estimate needs at least 3 stories of ended runs of this repository; there are 2.'],
    });
    const unpriced = CODEX.map(({ costUsd = 0, ...sample }) => (costUsd < 3 ? { ...sample, costUsd } : sample));
    const estimate = estimateStories(unpriced, { stories: 1 });
    expect(estimate).not.toHaveProperty('costUsd');
    expect(estimate.minutes?.story.median).toBe(1);
    expect(estimate.notes).toEqual([
      fewOf(5),
      'The cost of 3 of 5 stories is not known, for example because the model has no price.',
    ]);
  });

  it('is 0 without open stories, and takes little time for very many', () => {
    expect(estimateStories(CODEX, { stories: 0 }).costUsd?.sum).toEqual({ low: 0, median: 0, high: 0 });
    const from = performance.now();
    expect(estimateStories(CODEX, { stories: 20_000 }).costUsd?.sum.median).toBeGreaterThan(20_000);
    expect(performance.now() - from).toBeLessThan(5_000);
  });
});
