import { describe, expect } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import type { openAttemptBudget } from '../../../src/worker/network/attempt-budget.ts';
import { longestPauseMs } from '../../../src/worker/network/model-pauses.ts';
import { MODEL, openBudgets, ORIGIN, STORY } from './open-budgets.ts';
import { it } from '../../support/fixtures.ts';
import { attempted, BASE, created } from '../../support/journal.ts';

/** 100 tokens in, up to 50 out. */
const ESTIMATE = { model: MODEL, inputTokens: 100, outputTokens: 50, leastOutput: 20 };
const used = (outputTokens: number) => ({ requests: 1, inputTokens: 100, cachedTokens: 0, outputTokens });

async function grant(budget: Awaited<ReturnType<typeof openAttemptBudget>>, estimate = ESTIMATE) {
  const result = await budget.reserve(estimate);
  if (result.kind !== 'granted') throw new Error(`${result.kind}: ${result.reason}`);
  return result.reservation;
}

describe('the budget of an attempt', () => {
  it.for<[string, string[], 'granted' | 'wait' | 'spent']>([
    ['without a limit', [], 'granted'],
    ['with enough tokens', ['budget.story_tokens=150'], 'granted'],
    ['with enough tokens for a shorter answer', ['budget.story_tokens=120'], 'granted'],
    ['with too few tokens for the story', ['budget.story_tokens=119'], 'spent'],
    ['with too few tokens for the run', ['budget.run_tokens=119'], 'spent'],
    ['with too few tokens for the user', ['budget.user_tokens=119'], 'spent'],
    ['with too few tokens for the repository', ['budget.repository_tokens=119'], 'spent'],
    ['with too few tokens for the day', ['budget.day_tokens=119'], 'spent'],
  ])('%s', async ([, settings, kind], { home, link }) => {
    const { open } = await openBudgets(home, link);
    const result = await (await open(settings)).reserve(ESTIMATE);
    expect(result.kind).toBe(kind);
    if (result.kind === 'granted') expect(result.reservation.outputTokens).toBe(settings[0]?.endsWith('120') ? 20 : 50);
  });

  it('makes a request wait while others have reserved the rest', async ({ home, link }) => {
    const { open } = await openBudgets(home, link);
    const budget = await open(['budget.run_tokens=200']);
    const first = await grant(budget);
    expect(await budget.reserve(ESTIMATE)).toMatchObject({ kind: 'wait', ms: 1_000 });
    await first.settle(used(0), 'all');
    expect(await budget.reserve({ ...ESTIMATE, inputTokens: 50 })).toMatchObject({ kind: 'granted' });
  });

  it('is shared by the stories of a run, except for the budget of a story', async ({ home, link }) => {
    const { open } = await openBudgets(home, link);
    const one = await open(['budget.story_tokens=150', 'budget.run_tokens=300']);
    const two = await open(['budget.story_tokens=150', 'budget.run_tokens=250'], 2, 'US-002');
    await (await grant(one)).settle(used(50), 'all');
    expect(await one.reserve(ESTIMATE)).toMatchObject({
      kind: 'spent',
      limit: 'budget.story_tokens',
    });
    expect(await two.reserve(ESTIMATE)).toMatchObject({
      kind: 'spent',
      limit: 'budget.run_tokens',
    });
  });

  it('counts at least the reservation if the provider reported a part', async ({ home, link }) => {
    const { open, events } = await openBudgets(home, link);
    const budget = await open([]);
    await (await grant(budget)).settle(used(1), 'part');
    await (await grant(budget)).settle(used(1), 'all');
    expect(await events('model.used')).toMatchObject([{ tokens: 150 }, { tokens: 101 }]);
  });

  it('counts the runs of its user or repository alone', async ({ home, link }) => {
    const { open, store } = await openBudgets(home, link);
    const other = { ...created(), user: 'bob' };
    const elsewhere = { ...created(), user: 'ada', repo: { ...created().repo, mirror: 'other-1' } };
    const usage = { ...used(0), costUsd: 1 };
    for (const [run, tokens] of [
      [other, 1_000],
      [elsewhere, 100],
    ] as const) {
      await store.createRun(run, ORIGIN);
      const entry = { type: 'model.used', model: MODEL, told: 'all', usage, tokens, story: STORY, attempt: 1 } as const;
      await store.append(run.runId, [...attempted(STORY), entry]);
    }
    const kindOf = async (setting: string) => (await (await open([setting])).reserve(ESTIMATE)).kind;
    expect(await kindOf('budget.user_tokens=220')).toBe('granted');
    expect(await kindOf('budget.user_tokens=219')).not.toBe('granted');
    expect(await kindOf('budget.repository_tokens=1000')).toBe('spent');
    expect(await kindOf('budget.day_tokens=1100')).toBe('spent');
  });

  it('reports once that four fifths of a budget have been spent', async ({ home, link }) => {
    const { open, events } = await openBudgets(home, link);
    const budget = await open(['budget.run_tokens=500', 'budget.story_tokens=5000']);
    for (const expected of [[], [], [{ scope: 'run', unit: 'tokens', limit: 500, spent: 450 }]]) {
      await (await grant(budget)).settle(used(50), 'all');
      expect(await events('budget.warned')).toMatchObject(expected);
    }
    await (
      await grant(budget, { ...ESTIMATE, inputTokens: 10, leastOutput: 1 })
    ).settle({ ...used(1), inputTokens: 10 }, 'all');
    expect(await events('budget.warned')).toHaveLength(1);
  });

  it('names the budget that a response overdrew', async ({ home, link }) => {
    const { open } = await openBudgets(home, link);
    const settled = await (await grant(await open(['budget.run_tokens=150']))).settle(used(500), 'all');
    expect(settled.overrun?.limit).toBe('budget.run_tokens');
  });

  it('is known again from the journal after Redis has lost it', async ({ home, link }) => {
    const { open, link: own } = await openBudgets(home, link);
    const budget = await open(['budget.run_tokens=200']);
    await (await grant(budget)).settle(used(50), 'all');
    await own.client.flushdb();
    expect(await budget.reserve(ESTIMATE)).toMatchObject({ kind: 'spent' });
  });

  it('charges what an earlier attempt had reserved when its worker died', async ({ home, link }) => {
    const { open, events } = await openBudgets(home, link);
    await grant(await open(['budget.story_tokens=200']));
    const next = await open(['budget.story_tokens=200'], 1);
    expect(await events('model.used')).toMatchObject([{ told: 'part', tokens: 150 }]);
    expect(await next.reserve(ESTIMATE)).toMatchObject({ kind: 'spent' });
  });

  it('ends an attempt that alone uses up the requests of an hour', async ({ home, link }) => {
    const { open } = await openBudgets(home, link);
    const budget = await open([`rate.${MODEL}={ rph = 2 }`]);
    for (let request = 0; request < 2; request++) await (await grant(budget)).settle(used(1), 'all');
    expect(await budget.reserve(ESTIMATE)).toMatchObject({
      kind: 'spent',
      reason: expect.stringContaining('rph') as string,
    });
    const other = await open([`rate.${MODEL}={ rph = 2 }`], 1);
    expect(await other.reserve(ESTIMATE)).toMatchObject({ kind: 'wait', pause: { model: MODEL, by: 'rate' } });
  });

  it('reports a pause of the provider once, to all attempts', async ({ home, link }) => {
    const { open, events } = await openBudgets(home, link);
    const [one, two] = [await open([]), await open([], 1, 'US-002')];
    await one.pauseKey({ model: MODEL, key: 0, ms: 60_000, why: 'provider' });
    expect(await one.reserve(ESTIMATE)).toMatchObject({ kind: 'wait', pause: { by: 'provider' } });
    expect(await events('model.paused')).toMatchObject([{ model: MODEL, why: 'provider' }]);
    expect(await two.reserve(ESTIMATE)).toMatchObject({ kind: 'wait', pause: { by: 'provider' } });
  });
});

describe('an attempt that another worker has taken over', () => {
  const takeover: JournalEntry = { type: 'story.started', story: STORY, attempt: 1, epoch: 2, base: BASE };

  it('pauses a model without an error', async ({ home, link }) => {
    const { open, append } = await openBudgets(home, link);
    const budget = await open([]);
    await append(takeover);
    await expect(budget.pauseKey({ model: MODEL, key: 0, ms: 60_000, why: 'provider' })).resolves.toBeUndefined();
    expect(await (await open([], 2)).reserve(ESTIMATE)).toMatchObject({ kind: 'wait' });
  });
});

it('a reservation ends with its response, even if the journal cannot be written', async ({ home, link }) => {
  const { open, store, runId, link: own } = await openBudgets(home, link);
  const reservation = await grant(await open(['budget.run_tokens=1000']));
  store.transact = () => Promise.reject(new Error('the disk is full'));
  await reservation.settle(used(10), 'all');
  expect(await own.client.hgetall(`${own.prefix}:allowance:spent:run:${runId}`)).toMatchObject({
    tokens: '110',
    held_tokens: '0',
  });
});

it.for<[idleMs: number, pauseMs: number]>([
  [60_000, 30_000],
  [3_600_000, 300_000],
])('an agent that may be silent for %d ms waits at most %d ms for its model', ([idleMs, pauseMs]) => {
  const { config } = resolveConfig({ cwd: '/' });
  expect(longestPauseMs({ limits: { ...config.limits, idleMs } })).toBe(pauseMs);
});
