import { afterEach, describe, expect, onTestFinished } from 'vitest';
import { openBudgetLedger, type LedgerRequest, type BudgetLedger } from '../../src/queue/budget/budget-ledger.ts';
import { openQueue } from '../../src/queue/queue.ts';
import type { RedisLink } from '../../src/queue/redis/connect-redis.ts';
import { test } from '../support/fixtures.ts';
import { DAY_MS, enterPeriod, HOUR_MS } from '../support/period.ts';

let link: RedisLink;
let here: BudgetLedger;
let there: BudgetLedger;
let count = 0;

test.beforeEach(async ({ link: opened }) => {
  link = opened;
  await link.client.flushall();
  here = await openBudgetLedger(link);
  there = await openBudgetLedger(link);
  for (const worker of [here, there]) await worker.restore('run:r', { microUsd: 0, tokens: 0 });
});
afterEach(() => {
  here.close();
  there.close();
});

/** 100 tokens in for 100, up to 50 out for 500. */
function ask(more: Partial<LedgerRequest> = {}): LedgerRequest {
  return {
    id: `r:s:e1:${++count}`,
    model: 'host/m',
    keys: ['env:K'],
    scopes: [{ name: 'run', key: 'run:r', usd: 1_000 }],
    input: 100,
    inputUsd: 100,
    output: 50,
    least: 20,
    outputPrice: 10,
    ...more,
  };
}

async function spent(): Promise<Record<string, string>> {
  return link.client.hgetall(`${link.prefix}:allowance:spent:run:r`);
}

describe('a budget', () => {
  test('accepts one of fifty concurrent requests of two workers', async () => {
    const scopes = [{ name: 'run' as const, key: 'run:r', usd: 600 }];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? here : there).reserve(ask({ scopes }))),
    );
    expect(answers.filter(({ kind }) => kind === 'granted')).toHaveLength(1);
    expect(answers.filter(({ kind }) => kind === 'full')).toHaveLength(49);
    expect(await spent()).toMatchObject({ usd: '0', held_usd: '600', held_tokens: '150' });
  });

  test('releases the rest of a reservation if the answer used less', async () => {
    const request = ask();
    await here.reserve(request);
    await here.settle({ request: request, charge: { microUsd: 130, tokens: 103 }, load: 103 });
    expect(await spent()).toMatchObject({ usd: '130', tokens: '103', held_usd: '0', held_tokens: '0' });
  });

  test('reports that the provider counted more than was reserved, and the limit is exceeded', async () => {
    const request = ask({ scopes: [{ name: 'run', key: 'run:r', usd: 1_000, tokens: 200 }] });
    await here.reserve(request);
    const whole = await here.settle({ request: request, charge: { microUsd: 1_000, tokens: 200 }, load: 200 });
    expect(whole).toEqual({
      near: [
        { scope: 'run', unit: 'usd', limit: 1_000, spent: 1_000 },
        { scope: 'run', unit: 'tokens', limit: 200, spent: 200 },
      ],
    });
    const next = { ...request, id: 'r:s:e1:next', input: 0, inputUsd: 0, output: 0, least: 0 };
    expect(await here.reserve(next)).toMatchObject({ kind: 'granted' });
    expect(await here.settle({ request: next, charge: { microUsd: 0, tokens: 1 }, load: 1 })).toEqual({
      over: { kind: 'over', scope: 'run', unit: 'tokens', limit: 200, spent: 201, reserved: 0, needed: 0 },
      near: [],
    });
  });

  test('gives the last request the remaining output, and refuses one that would be too short', async () => {
    const first = ask();
    await here.reserve(first);
    expect(await there.reserve(ask())).toMatchObject({ kind: 'granted', output: 30, usd: 400 });
    expect(await there.reserve(ask())).toMatchObject({ kind: 'full', scope: 'run', unit: 'usd', needed: 300 });
  });

  test('a budget of tokens counts input and output', async () => {
    const scopes = [{ name: 'run' as const, key: 'run:r', tokens: 130 }];
    expect(await here.reserve(ask({ scopes }))).toMatchObject({ kind: 'granted', output: 30, tokens: 130 });
    expect(await here.reserve(ask({ scopes }))).toMatchObject({
      kind: 'full',
      unit: 'tokens',
      limit: 130,
      reserved: 130,
    });
  });

  test('of a day has in use what was spent and what is reserved', async () => {
    await enterPeriod(DAY_MS);
    const [seconds] = await link.client.time();
    const key = `day:${new Date(Number(seconds) * 1000).toISOString().slice(0, 10)}`;
    const queue = await openQueue(link);
    onTestFinished(() => queue.close());
    expect(await queue.fleetUse()).not.toHaveProperty('today');
    for (const worker of [here, there]) await worker.restore(key, { microUsd: 0, tokens: 0 });
    const [first, second] = [1, 2].map(() => ask({ scopes: [{ name: 'day', key, usd: 10_000 }] }));
    await here.reserve(first!);
    await here.settle({ request: first!, charge: { microUsd: 130, tokens: 103 }, load: 103 });
    await there.reserve(second!);
    expect(await queue.fleetUse()).toMatchObject({ today: { microUsd: 730, tokens: 253 } });
  });

  test('must be restored before anything is spent if the server lost it', async () => {
    await link.client.flushall();
    expect(await here.reserve(ask())).toEqual({ kind: 'unknown', scope: 'run' });
    await here.restore('run:r', { microUsd: 900, tokens: 5 });
    await here.restore('run:r', { microUsd: 300, tokens: 7 });
    expect(await spent()).toMatchObject({ usd: '900', tokens: '7' });
    expect(await here.reserve(ask())).toMatchObject({ kind: 'full', spent: 900 });
  });

  test('is restored by each worker, and after each connection, because a server may lose its last second', async () => {
    const third = await openBudgetLedger(link);
    expect(await third.reserve(ask())).toEqual({ kind: 'unknown', scope: 'run' });
    third.close();
    await link.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await expect.poll(() => here.reserve(ask())).toEqual({ kind: 'unknown', scope: 'run' });
  });

  test('counts an answer that ends after the server lost its request', async () => {
    const request = ask();
    await here.reserve(request);
    await link.client.flushall();
    await there.restore('run:r', { microUsd: 0, tokens: 0 });
    await here.settle({ request: request, charge: { microUsd: 130, tokens: 103 }, load: 103 });
    expect(await spent()).toMatchObject({ usd: '130', tokens: '103', held_usd: '0' });
  });

  test('counts all reservations of a dead worker, once', async () => {
    const [dead, alive] = [ask(), ask({ id: 'r:other:e1:1' })];
    await here.reserve(dead);
    await here.reserve(alive);
    expect(await there.chargeAbandoned('r:s:')).toEqual([{ microUsd: 600, tokens: 150 }]);
    expect(await there.chargeAbandoned('r:s:')).toEqual([]);
    expect(await spent()).toMatchObject({ usd: '600', held_usd: '400' });
    // It was alive after all: what it really used counts.
    await here.settle({ request: dead, charge: { microUsd: 130, tokens: 103 }, load: 103 });
    expect(await spent()).toMatchObject({ usd: '130', tokens: '103', held_usd: '400' });
  });

  test('counts a reservation as spent when it is not renewed', async () => {
    const leases = `${link.prefix}:allowance:leases`;
    const request = ask();
    await here.reserve(request);
    await link.client.zadd(leases, Date.now() - 1, request.id);
    await there.reserve(ask({ scopes: [] }));
    expect(await spent()).toMatchObject({ usd: '600', tokens: '150', held_usd: '0' });
  });

  test('reserves nothing twice if a request is repeated because its reply was lost', async () => {
    const request = ask();
    await here.reserve(request);
    await here.reserve(request);
    expect(await spent()).toMatchObject({ held_usd: '600', held_tokens: '150' });
  });

  test('is not guessed if the server is unavailable', async () => {
    const gone = await openBudgetLedger(link);
    gone.close();
    const refusal = { code: 'BUDGET_UNKNOWN', stopReason: 'INFRASTRUCTURE' };
    await expect(gone.reserve(ask({ scopes: [] }))).rejects.toMatchObject(refusal);
    await expect(gone.restore('run:r', { microUsd: 0, tokens: 0 })).rejects.toMatchObject(refusal);
  });
});

describe('a rate', () => {
  test('a rate of requests is shared by all workers', async () => {
    const rate = { scopes: [], rpm: 3 };
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? here : there).reserve(ask(rate))),
    );
    expect(answers.filter(({ kind }) => kind === 'granted')).toHaveLength(3);
    const waiting = answers.filter((answer) => answer.kind === 'wait');
    expect(waiting).toHaveLength(7);
    for (const { ms, why } of waiting) {
      expect(why).toBe('rate');
      expect(ms).toBeGreaterThan(0);
      expect(ms).toBeLessThanOrEqual(60_000);
    }
    expect(await here.reserve(ask({ ...rate, model: 'host/other' }))).toMatchObject({ kind: 'granted' });
  });

  test('a rate of tokens counts actual usage, and accepts a request that is larger than the limit of a minute', async () => {
    const rate = { scopes: [], tpm: 150 };
    const first = ask({ ...rate, input: 1_000 });
    expect(await here.reserve(first)).toMatchObject({ kind: 'granted' });
    expect(await there.reserve(ask(rate))).toMatchObject({ kind: 'wait', why: 'rate' });
    await here.settle({ request: first, charge: { microUsd: 0, tokens: 0 }, load: 40 });
    expect(await there.reserve(ask(rate))).toMatchObject({ kind: 'granted' });
    expect(await there.reserve(ask(rate))).toMatchObject({ kind: 'wait' });
  });

  test('restarts from zero after its minute', async () => {
    const rate = { scopes: [], rpm: 1, tpm: 100 };
    const first = ask(rate);
    await here.reserve(first);
    await link.client.zadd(`${link.prefix}:allowance:window:host/m`, Date.now() - 61_000, first.id);
    expect(await there.reserve(ask(rate))).toMatchObject({ kind: 'granted' });
    expect(await link.client.hget(`${link.prefix}:allowance:load:host/m`, 'sum')).toBe('100');
  });
});

describe('a rate per hour', () => {
  const hour = () => `${link.prefix}:allowance:hour:host/m:${Math.floor(Date.now() / HOUR_MS)}`;

  test.beforeEach(() => enterPeriod(HOUR_MS));

  test('is shared by all workers, also by those that connect later, and names the end of the hour', async () => {
    const rate = { scopes: [], rph: 3 };
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? here : there).reserve(ask(rate))),
    );
    expect(answers.filter(({ kind }) => kind === 'granted')).toHaveLength(3);
    const third = await openBudgetLedger(link);
    const answer = await third.reserve(ask(rate));
    expect(answer).toMatchObject({ kind: 'wait', why: 'hour' });
    const end = Date.now() + (answer.kind === 'wait' ? answer.ms : 0);
    expect(Math.abs(end - Math.round(end / HOUR_MS) * HOUR_MS)).toBeLessThan(60_000);
    expect(await third.findPause({ model: 'host/m', keys: ['env:K'], rph: 3 })).toMatchObject({ why: 'hour' });
    third.close();
    expect(await here.reserve(ask({ ...rate, model: 'host/other' }))).toMatchObject({ kind: 'granted' });
    expect(await here.findPause({ model: 'host/other', keys: ['env:K'], rph: 3 })).toBeUndefined();
  });

  test('begins again with each hour', async () => {
    const rate = { scopes: [], rph: 1 };
    await here.reserve(ask(rate));
    expect(await here.reserve(ask(rate))).toMatchObject({ kind: 'wait' });
    await link.client.rename(hour(), `${hour()}0`);
    expect(await here.reserve(ask(rate))).toMatchObject({ kind: 'granted' });
  });

  test('counts a request once that is sent again because the reply was lost', async () => {
    const request = ask({ scopes: [], rph: 2 });
    await here.reserve(request);
    await here.reserve(request);
    expect(await link.client.get(hour())).toBe('1');
  });
});

describe('a pause', () => {
  test('may be tried again by a run whose user has asked for it since, until the provider repeats it', async () => {
    await here.pauseKey({ model: 'host/m', key: 'env:K', ms: 300_000, at: 1_000, refused: false });
    expect(await there.reserve(ask({ since: 900 }))).toMatchObject({ kind: 'wait', why: 'cooling' });
    expect(await there.findPause({ model: 'host/m', keys: ['env:K'], since: 1_100 })).toBeUndefined();
    expect(await there.reserve(ask({ since: 1_100 }))).toMatchObject({ kind: 'granted' });
    await there.pauseKey({ model: 'host/m', key: 'env:K', ms: 10, at: 1_200, refused: false });
    const again = await here.reserve(ask({ since: 1_100 }));
    expect(again).toMatchObject({ kind: 'wait', why: 'cooling' });
    expect(again.kind === 'wait' && again.ms).toBeGreaterThan(100_000);
  });

  test('is that of a key: requests use the first one without a pause, or wait for the first that may be used', async () => {
    const keys = ['env:K', 'file:/k', 'env:L'];
    const pause = (key: string, ms: number, refused = false) =>
      here.pauseKey({ model: 'host/m', key, ms, at: 1_000, refused });
    const request = () => ask({ scopes: [], keys });
    expect(await there.reserve(request())).toMatchObject({ kind: 'granted', key: 'env:K' });
    await pause('env:K', 600_000);
    expect(await there.reserve(request())).toMatchObject({ kind: 'granted', key: 'file:/k' });
    await pause('file:/k', 100_000, true);
    expect(await there.reserve(request())).toMatchObject({ kind: 'granted', key: 'env:L' });
    await pause('env:L', 300_000);
    const wait = await there.reserve(request());
    expect(wait).toMatchObject({ kind: 'wait', why: 'cooling' });
    // That of the refused key would be the shortest.
    expect(wait.kind === 'wait' && wait.ms).toBeGreaterThan(200_000);
    expect(wait.kind === 'wait' && wait.ms).toBeLessThanOrEqual(300_000);
    expect(await there.findPause({ model: 'host/m', keys })).toMatchObject({ why: 'cooling' });
    expect(await there.reserve(ask({ scopes: [], keys, since: 1_100 }))).toMatchObject({ key: 'env:K' });
  });

  test('holds no request if all keys were refused: the one that was refused first is tried again', async () => {
    const keys = ['env:K', 'env:L'];
    for (const [key, ms] of [['env:K', 600_000] as const, ['env:L', 300_000] as const])
      await here.pauseKey({ model: 'host/m', key, ms, at: 1_000, refused: true });
    expect(await there.reserve(ask({ scopes: [], keys }))).toMatchObject({ kind: 'granted', key: 'env:L' });
    expect(await there.findPause({ model: 'host/m', keys })).toBeUndefined();
  });

  test('blocks all workers for this model, and is never shortened', async () => {
    await here.pauseKey({ model: 'host/m', key: 'env:K', ms: 300_000, at: 1_000, refused: false });
    await there.pauseKey({ model: 'host/m', key: 'env:K', ms: 10, at: 1_000, refused: false });
    const answer = await there.reserve(ask());
    expect(answer).toMatchObject({ kind: 'wait', why: 'cooling' });
    expect(answer.kind === 'wait' && answer.ms).toBeGreaterThan(100_000);
    expect(await there.reserve(ask({ model: 'host/other' }))).toMatchObject({ kind: 'granted' });
  });
});
