import { once } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { HaloError } from '../../../src/core/failure/errors.ts';
import type { Usage } from '../../../src/core/agent.ts';
import type { BudgetPort, ReserveResult, Estimate } from '../../../src/gateway/usage/budget-port.ts';
import type { ModelRoute } from '../../../src/gateway/model/model-route.ts';
import { PATIENCE } from '../../support/patience.ts';
import { ask, open } from '../client.ts';
import { ANTHROPIC, gateway, httpServer, modelServer, OPENAI } from '../fixture.ts';

interface Asked {
  asked: Estimate[];
  settled: { usage: Usage; told: string }[];
  cooled: number[];
}

/** Answers as the list says, and then grants all that is asked for. */
function budget(script: (ReserveResult | HaloError | { output: number })[] = []): BudgetPort & Asked {
  const kept: Asked = { asked: [], settled: [], cooled: [] };
  const granted = (outputTokens: number): ReserveResult => ({
    kind: 'granted',
    reservation: {
      outputTokens,
      key: 0,
      settle: (usage, told) => {
        kept.settled.push({ usage, told });
        return Promise.resolve({ usage: { ...usage, costUsd: 1 } });
      },
    },
  });
  return {
    ...kept,
    longestPauseMs: 300_000,
    reserve(estimate) {
      kept.asked.push(estimate);
      const next = script.shift();
      if (next instanceof HaloError) return Promise.reject(next);
      if (next === undefined || 'output' in next)
        return Promise.resolve(granted(next?.output ?? estimate.outputTokens));
      return Promise.resolve(next);
    },
    pauseKey: ({ ms }) => Promise.resolve(void kept.cooled.push(ms)),
  };
}

function live(baseUrl: string, given: BudgetPort, api: typeof OPENAI | typeof ANTHROPIC = OPENAI): ModelRoute {
  return { ...api, mode: 'live', baseUrl, providerKeys: ['sk-canary-allowance'], cassette: '', budget: given };
}

describe('a model request', () => {
  it('reserves its maximum and is settled with its usage', async () => {
    const model = await modelServer([{ say: 'hello', usage: { input: 70, output: 7, cached: 20 } }]);
    const given = budget();
    const gate = await gateway({ model: live(model.url, given) });
    await ask(gate.socket, { body: { model: 'm', stream: true, input: 'ü'.repeat(500), max_output_tokens: 300 } });
    const [worst] = given.asked;
    expect(worst).toMatchObject({ model: 'm', outputTokens: 300, leastOutput: 300 });
    expect(worst!.inputTokens).toBeGreaterThanOrEqual(1_000);
    const usage = { requests: 1, inputTokens: 70, cachedTokens: 20, outputTokens: 7 };
    expect(given.settled).toEqual([{ usage, told: 'all' }]);
    expect(gate.usage()).toEqual({ ...usage, costUsd: 1 });
  });

  it('is forwarded with the output limit that the budget allows, in the field of its API', async () => {
    const model = await modelServer([{ say: 'a' }, { say: 'b' }, { say: 'c' }]);
    const openai = await gateway({ model: live(model.url, budget([{ output: 2_000 }, { output: 2_000 }])) });
    await ask(openai.socket);
    await ask(openai.socket, { path: '/v1/chat/completions', body: { model: 'm', max_tokens: 5_000, messages: [] } });
    const anthropic = await gateway({ model: live(model.url, budget([{ output: 2_000 }]), ANTHROPIC) });
    await ask(anthropic.socket, { path: '/v1/messages', body: { model: 'm', max_tokens: 9_000, messages: [] } });
    const sent = model.requests.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
    expect(sent).toMatchObject([{ max_output_tokens: 2_000 }, { max_tokens: 2_000 }, { max_tokens: 2_000 }]);
  });

  it('is cut off when its answer exceeds the limit, and settled as partly known', async () => {
    const delta = 'data: {"type":"response.output_text.delta","delta":"x"}\n\n';
    const provider = await httpServer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.end(delta.repeat(50));
    });
    const given = budget([{ output: 20 }]);
    const gate = await gateway({ model: live(`http://${provider}/v1`, given) });
    await expect(ask(gate.socket)).rejects.toThrow('aborted');
    expect(given.settled).toMatchObject([{ told: 'part' }]);
  });

  it('is refused when the budget is used up, with a status that no agent retries', async () => {
    const model = await modelServer([]);
    const gate = await gateway({
      model: live(model.url, budget([{ kind: 'spent', reason: 'All is spent.', limit: 'budget.run_usd' }])),
    });
    const answer = await ask(gate.socket);
    expect(answer.status).toBe(400);
    expect(answer.body).toContain('All is spent.');
    expect(gate.stopped()).toEqual({ cause: 'budget', sentence: 'All is spent.', limit: 'budget.run_usd' });
    expect(model.requests).toHaveLength(0);
  });

  it('is refused while the remaining budget is unknown, until a later success', async () => {
    const model = await modelServer([{ say: 'hello' }]);
    const gate = await gateway({
      model: live(model.url, budget([new HaloError('BUDGET_UNKNOWN', 'Redis is away.')])),
    });
    expect((await ask(gate.socket)).status).toBe(503);
    expect(gate.stopped()).toEqual({ cause: 'fault', sentence: 'Redis is away.' });
    expect(model.requests).toHaveLength(0);
    expect((await ask(gate.socket)).status).toBe(200);
    expect(gate.stopped()).toBeUndefined();
  });

  it('waits for a short time in the gateway, and is refused with a time if the wait is long', async () => {
    const model = await modelServer([{ say: 'hello' }]);
    const wait = (ms: number): ReserveResult => ({ kind: 'wait', ms, reason: 'The provider wants a pause.' });
    const pause = { model: 'm', by: 'rate' as const, until: '2030-01-01T00:00:00.005Z' };
    const gate = await gateway({ model: live(model.url, budget([wait(5), { ...wait(5), pause } as ReserveResult])) });
    expect((await ask(gate.socket)).status).toBe(200);
    const other = await gateway({ model: live(model.url, budget([wait(90_500)])) });
    const answer = await ask(other.socket);
    expect(answer.status).toBe(429);
    expect(answer.headers['retry-after']).toBe('91');
    expect(answer.body).toContain('The provider wants a pause.');
    expect(model.requests).toHaveLength(1);
  });

  it('is repeated after a pause that its provider requested, unless that is long', async () => {
    const model = await modelServer([
      { fail: 429, headers: { 'retry-after-ms': '5' } },
      { fail: 503, headers: { 'retry-after': '1' } },
      { say: 'hello' },
      { fail: 429, headers: { 'retry-after': '300' } },
      { fail: 429 },
    ]);
    const given = budget();
    const gate = await gateway({ model: live(model.url, given) });
    expect((await ask(gate.socket)).status).toBe(200);
    expect(given.cooled).toEqual([5, 1_000]);
    expect(given.settled.map(({ told }) => told)).toEqual(['all', 'all', 'all']);
    const long = await ask(gate.socket);
    expect([long.status, long.headers['retry-after']]).toEqual([429, '300']);
    expect((await ask(gate.socket)).status).toBe(429);
    expect(given.cooled).toEqual([5, 1_000, 300_000]);
  });

  it('is refused, with a status that no agent retries, if its model has a pause of hours, until a later success', async () => {
    const model = await modelServer([{ say: 'hello' }]);
    const pause = { model: 'm', by: 'provider' as const, until: '2030-01-01T05:00:00.000Z' };
    const wait: ReserveResult = { kind: 'wait', ms: 5 * 3_600_000, reason: 'Not before 05:00.', pause };
    const gate = await gateway({ model: live(model.url, budget([wait])) });
    const answer = await ask(gate.socket);
    expect([answer.status, answer.headers['retry-after']]).toEqual([400, undefined]);
    expect(answer.body).toContain('Not before 05:00.');
    expect(gate.stopped()).toEqual({ cause: 'pause', sentence: 'Not before 05:00.', pause });
    expect(gate.problem()).toEqual({ sentence: 'Not before 05:00.', cause: 'rate-limited' });
    expect((await ask(gate.socket)).status).toBe(200);
    expect(gate.stopped()).toBeUndefined();
  });

  it('pauses all workers for hours if its provider requests that in headers or in the body', async () => {
    const now = Math.floor(Date.now() / 1000);
    const reset = { error: { type: 'usage_limit_reached', message: 'limit', resets_at: now + 18_000 } };
    const model = await modelServer([
      { fail: 429, headers: { 'retry-after': '18000' } },
      { say: 'hello' },
      { fail: 429, body: reset },
      { say: 'hello' },
    ]);
    const given = budget();
    const gate = await gateway({ model: live(model.url, given) });
    for (let nth = 0; nth < 2; nth++) expect((await ask(gate.socket)).status).toBe(200);
    expect(given.cooled[0]).toBe(18_000_000);
    expect(given.cooled[1]).toBeGreaterThan(17_900_000);
    expect(given.cooled[1]).toBeLessThanOrEqual(18_000_000);
  });

  it('has its error passed on if that was read for a pause and names none', async () => {
    const error = { error: { message: 'You exceeded your quota.', code: 'insufficient_quota' } };
    const model = await modelServer([{ fail: 429, body: error }]);
    const given = budget();
    const gate = await gateway({ model: live(model.url, given) });
    const answer = await ask(gate.socket);
    expect([answer.status, JSON.parse(answer.body)]).toEqual([429, error]);
    expect(given.cooled).toEqual([]);
    expect(gate.problem()).toMatchObject({ cause: 'rate-limited' });
    expect(gate.problem()?.sentence).toContain('You exceeded your quota.');
  });

  it('ends all other running requests, and every later one, if it overdraws a budget', async () => {
    const event = 'data: {"type":"response.output_text.delta","delta":"x"}\n\n';
    let answers = 0;
    const provider = await httpServer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(event);
      // The first one never ends.
      if (answers++ > 0)
        res.end(
          'data: {"type":"response.completed","response":{"usage":{"input_tokens":1,"output_tokens":900000}}}\n\n',
        );
    });
    const given = budget();
    const overdrawn: BudgetPort = {
      ...given,
      async reserve(estimate) {
        const permission = await given.reserve(estimate);
        if (permission.kind !== 'granted') return permission;
        const { reservation } = permission;
        const settle: typeof reservation.settle = async (usage, told) => ({
          ...(await reservation.settle(usage, told)),
          ...(usage.outputTokens > 1_000 ? { overrun: { sentence: 'Too much.', limit: 'budget.run_usd' } } : {}),
        });
        return { kind: 'granted', reservation: { ...reservation, outputTokens: Infinity, settle } };
      },
    };
    const gate = await gateway({ model: live(`http://${provider}/v1`, overdrawn) });
    const endless = await open(gate.socket);
    const cut = once(endless.resume(), 'error');
    expect((await ask(gate.socket)).status).toBe(200);
    await cut;
    expect(gate.stopped()).toEqual({ cause: 'overrun', sentence: 'Too much.', limit: 'budget.run_usd' });
    expect(gate.problem()?.sentence).toBe('Too much.');
    await vi.waitFor(() => expect(given.settled).toMatchObject([{ told: 'all' }, { told: 'part' }]), PATIENCE);
  });

  it('waits if it only counts tokens, and delays no other request', async () => {
    const provider = await httpServer((_req, res) => void res.writeHead(429, { 'retry-after': '30' }).end());
    const given = budget([{ kind: 'wait', ms: 5, reason: 'Later.' }]);
    const gate = await gateway({ model: live(`http://${provider}/v1`, given, ANTHROPIC) });
    const answer = await ask(gate.socket, {
      path: '/v1/messages/count_tokens',
      body: { model: 'm', messages: [] },
    });
    expect(answer.status).toBe(429);
    expect(given.asked).toHaveLength(2);
    expect(given.asked[0]).toEqual({ model: 'm', inputTokens: 0, outputTokens: 0, leastOutput: 0 });
    expect(given.cooled).toEqual([]);
  });

  it('costs nothing when it was refused, was never sent or only counts tokens', async () => {
    const model = await modelServer([{ fail: 400 }]);
    const given = budget();
    const gate = await gateway({ model: live(model.url, given, ANTHROPIC) });
    await ask(gate.socket, { path: '/v1/messages', body: { model: 'm', max_tokens: 10, messages: [] } });
    await ask(gate.socket, { path: '/v1/messages/count_tokens', body: { model: 'm', messages: [] } });
    const nothing = { usage: { inputTokens: 0, outputTokens: 0 } };
    expect(given.settled).toMatchObject([{ told: 'all', ...nothing }, nothing]);
    const unreachable = await gateway({ model: live('http://127.0.0.1:1/v1', given) });
    expect((await ask(unreachable.socket)).status).toBe(502);
    expect(given.settled[2]).toMatchObject({ told: 'all' });
  });
});
