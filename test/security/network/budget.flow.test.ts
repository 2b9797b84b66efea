import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connectRedis } from '../../../src/queue/redis/connect-redis.ts';
import { openHalo, scripted, type TestHalo } from '../../support/halo/halo.ts';
import { DAY_MS, enterPeriod } from '../../support/period.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

const KEY = 'sk-test-budget-7d1c';
/** Asks the model; `ask(n)` gives the status of each of n answers to concurrent requests. */
const CLIENT = `
const body = JSON.stringify({ model: 'm', max_tokens: 2000, messages: [{ role: 'user', content: 'hello' }] });
const headers = { authorization: 'Bearer ' + process.env.HALO_MODEL_KEY };
const one = (signal, sent = body) => fetch(process.env.HALO_MODEL_URL + '/chat/completions', { method: 'POST', headers, body: sent, signal });
const ask = (n) => Promise.all(Array.from({ length: n }, () => one().then(async (r) => [r.status, await r.text()])));
const done = (summary) => {
  require('fs').appendFileSync('work.txt', summary + '\\n');
  console.log(JSON.stringify({ status: 'ok', summary }));
};
`;

let halo: TestHalo;
const undo: (() => void)[] = [];

beforeAll(async () => {
  process.env.HALO_TEST_KEY = KEY;
  halo = await openHalo({ concurrency: 3 });
});
afterAll(async () => {
  delete process.env.HALO_TEST_KEY;
  await halo.close();
});
afterEach(() => undo.splice(0).forEach((step) => step()));

interface Provider {
  url: string;
  /** When each request came, in ms. */
  times: number[];
}

async function provider(answer: (res: ServerResponse, count: number) => void): Promise<Provider> {
  const times: number[] = [];
  const server: Server = createServer((req, res) => {
    req.resume().on('end', () => answer(res, times.push(Date.now())));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  undo.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, times };
}

function tell(res: ServerResponse, prompt: number, completion: number): void {
  res.setHeader('content-type', 'application/json');
  res.end(JSON.stringify({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion } }));
}

/** One story whose agent runs this JavaScript; tokens cost a USD per thousand, in and out. */
function run(url: string, script: string, more: string[] = [], ids = ['A', 'B']) {
  const program = Buffer.from(`${CLIENT};(async () => { ${script} })()`).toString('base64');
  const settings = scripted(
    `echo ${program} | base64 -d > /tmp/a.js && node /tmp/a.js`,
    ['true'],
    [
      'agents.command.model=openai',
      `model.base_url=${url}`,
      'model.key_env=HALO_TEST_KEY',
      'model.name=m',
      'prices.m={input=1000,output=1000}',
      'retry.attempts=3',
      ...more,
    ],
  );
  return halo.run(
    newRepository().root,
    ids.map((id) => ({ id })),
    settings,
  );
}

const usedIn = (runId: string) => halo.journal(runId).filter((event) => event.type === 'model.used');

describe('attack 8: a budget', () => {
  it('allows one of fifty concurrent requests of a container, and ends the run when it is used up', async () => {
    const model = await provider((res) => void setTimeout(() => tell(res, 100, 1_950), 200));
    const state = await run(model.url, 'await ask(50); process.exit(1);', ['budget.story_usd=3']);
    expect(model.times).toHaveLength(1);
    expect(state).toMatchObject({
      stopReason: 'BUDGET_EXCEEDED',
      usage: { requests: 1, inputTokens: 100, outputTokens: 1_950, costUsd: 2.05 },
      stories: [{ progress: 'failed', attempts: 1, stopReason: 'BUDGET_EXCEEDED' }, { progress: 'pending' }],
    });
    expect(state.detail).toMatch(
      /^A: The next request .* left of this story's budget \(\$0\.95 of \$3\.00\); raise budget\.story_usd to continue\.$/,
    );
    const record = JSON.parse(halo.readFile(state.runId, 'run.json')) as { exitStatus: number; usage: object };
    expect(record).toMatchObject({ exitStatus: 10, usage: { costUsd: 2.05 } });
    const key = state.stories[0]!.key;
    expect(JSON.parse(halo.readFile(state.runId, `artifacts/${key}/1/usage.json`))).toMatchObject({ costUsd: 2.05 });
  });

  it('a budget of a run and of a day is shared by stories and runs, also after Redis lost all data', async () => {
    await enterPeriod(DAY_MS);
    const model = await provider((res) => tell(res, 100, 900));
    const spend = "const [[status]] = await ask(1); if (status !== 200) process.exit(1); done('Asked.');";
    const first = await run(model.url, spend, ['budget.run_tokens=2000']);
    expect(first.detail).toContain("what is left of this run's budget (1,000 tokens of 2,000)");
    expect(first.stories).toMatchObject([{ progress: 'passed' }, { stopReason: 'BUDGET_EXCEEDED' }]);
    const redis = await connectRedis(halo.host);
    await redis.client.flushall();
    await redis.close();
    const second = await run(model.url, spend, ['budget.day_tokens=3000']);
    expect(second.detail).toMatch(/^A: The next request .* left of today's budget \(UTC\) \([\d,]+ tokens of 3,000\)/);
    expect(model.times).toHaveLength(1);
  });

  it('charges the whole reservation for an aborted answer', async () => {
    const model = await provider((res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write('data: {"choices":[{"delta":{"content":"Hel"}}]}\n\n');
    });
    const script =
      "const stop = new AbortController(); const r = await one(stop.signal); await r.body.getReader().read(); stop.abort(); done('Left.');";
    const state = await run(model.url, script, [], ['A']);
    const [used] = usedIn(state.runId);
    expect(state.stories[0]).toMatchObject({ progress: 'passed' });
    expect(used).toMatchObject({ told: 'part' });
    expect(used!.tokens).toBeGreaterThan(2_000);
    expect(used!.usage.costUsd).toBe(used!.tokens / 1_000);
    expect(state.usage.costUsd).toBeCloseTo(used!.tokens / 1_000, 6);
  });
});

describe('incident budget-burst: requests that count as more than they appear', () => {
  it('two limits of which a server takes the larger, and files of a few bytes: none of thirty is forwarded, and the story ends', async () => {
    const model = await provider((res) => tell(res, 300_000, 100_000));
    const script = `const sent = [
        { max_tokens: 100000, max_completion_tokens: 1 },
        { messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: 'AA==' } }] }] },
      ].map((more) => JSON.stringify({ ...JSON.parse(body), ...more }));
      const burst = (text) => Promise.all(Array.from({ length: 15 }, () => one(undefined, text).then((r) => r.text())));
      const [[two], [file]] = await Promise.all(sent.map(burst));
      done(two + file);`;
    const state = await run(model.url, script, ['budget.story_tokens=200000']);
    expect(model.times).toHaveLength(0);
    expect(state.stories[0]!.summary).toMatch(/sets both max_tokens/);
    expect(state.stories[0]!.summary).toMatch(/may take up to 2,1\d\d,\d{3} tokens/);
  });

  it('answers that a provider counts as more than allowed end the run with any answer of the agent', async () => {
    const model = await provider((res) => tell(res, 100, 100_000));
    const state = await run(model.url, "await ask(30); done('All went well.');", ['budget.story_tokens=200000']);
    expect(state).toMatchObject({
      stopReason: 'BUDGET_EXCEEDED',
      stories: [{ progress: 'failed', stopReason: 'BUDGET_EXCEEDED' }, { progress: 'pending' }],
    });
    expect(state.detail).toMatch(/^A: The provider counted [\d,]+ tokens, more than this story's budget of 200,000;/);
  });
});

describe('incident pretended-pause: an agent that only says that its provider wants a pause', () => {
  it('has failed, and nothing waits', async () => {
    const model = await provider((res) => tell(res, 1, 1));
    const words = 'You have hit your usage limit. HTTP 429, retry-after: 18000. Try again in 5 hours.';
    const script = `await ask(1); console.log(${JSON.stringify(words)}); console.error(${JSON.stringify(words)}); process.exit(1);`;
    const state = await run(model.url, script, ['retry.attempts=1']);
    expect(state).toMatchObject({ stopReason: 'ENGINE_ERROR', stories: [{ progress: 'failed' }, {}] });
    expect(state).not.toHaveProperty('modelPause');
    expect(halo.journal(state.runId).map(({ type }) => type)).not.toContain('story.postponed');
  });
});

describe('a pause that a provider requests', () => {
  it('delays the requests of all runs, without an error for any agent', async () => {
    const PAUSE_S = 1;
    let refusedAt = 0;
    const model = await provider((res, count) => {
      if (count > 1) return tell(res, 1, 1);
      refusedAt = Date.now();
      res.writeHead(429, { 'retry-after': String(PAUSE_S) });
      res.end('{}');
    });
    const script = 'const all = await ask(2); done(all.map(([status]) => status).join());';
    const states = await Promise.all([run(model.url, script, [], ['A']), run(model.url, script, [], ['A'])]);
    for (const { stories } of states) expect(stories).toMatchObject([{ summary: '200,200' }]);
    // Those that were on their way already could not be held.
    const early = model.times.filter((at) => at < refusedAt + PAUSE_S * 1_000 - 50);
    expect(early.length).toBeLessThanOrEqual(4);
    expect(model.times).toHaveLength(5);
    const logs = states.map(({ runId }) => halo.readFile(runId, 'agent.log')).join('\n');
    expect(logs).toMatch(/model\s+requests for m wait \S+(?: \S+)?: the provider asked for a pause/);
    expect(states.some(({ modelPause }) => modelPause?.why === 'provider')).toBe(true);
  });
});
