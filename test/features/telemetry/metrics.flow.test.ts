import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Users } from '../../../src/api/access/users.ts';
import { serveApi, type Served } from '../../../src/api/http/serve-api.ts';
import { openLocal, type LocalOperations } from '../../../src/api/local.ts';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import { toExposition } from '../../../src/features/telemetry/core/exposition.ts';
import { COUNTERS } from '../../../src/features/telemetry/core/metric-totals.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { openBudgetLedger } from '../../../src/queue/budget/budget-ledger.ts';
import { JobConsumer } from '../../../src/queue/consumer.ts';
import { openQueue } from '../../../src/queue/queue.ts';
import { connectRedis } from '../../../src/queue/redis/connect-redis.ts';
import { openStore, type Store } from '../../../src/store/store.ts';
import { MetricsFile } from '../../../src/features/telemetry/store/metrics-file.ts';
import { MetricsRecorder } from '../../../src/features/telemetry/worker/metrics-recorder.ts';
import { hostOf } from '../../support/halo/host.ts';
import { created, journalOf, passed, stateOf } from '../../support/journal.ts';
import { skipFor } from '../../support/skip.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { PATIENCE } from '../../support/patience.ts';
import { DAY_MS, enterPeriod } from '../../support/period.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const TOKEN = 'the-token-of-the-server';
const NOW = { by: 'owner', now: new Date() };
const ORIGIN = { haloVersion: '', agent: { name: 'codex' }, args: [], config: {} };

let home: string;
let operations: LocalOperations;
let served: Served;
let store: Store;
let missing: string[];

beforeEach(async () => {
  home = tempDir('halo-metrics');
  operations = openLocal({ host: hostOf(home) });
  store = openStore(home, { transcribe });
  missing = [];
  await serve();
});
afterEach(async () => {
  await served.close();
  await operations.close();
});

async function serve(metrics: 'token' | 'public' = 'token'): Promise<void> {
  served = await serveApi({
    operations,
    listen: '127.0.0.1:0',
    host: { ...hostOf(home), apiToken: TOKEN },
    rules: { metrics },
    findMissing: () => Promise.resolve(missing),
  });
}

const ask = async (path: string, token?: string) => {
  const response = await fetch(`${served.url}${path}`, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
};

/** What a worker does with new events. */
async function record(): Promise<void> {
  const recorder = new MetricsRecorder(home);
  await store.feedEvents((fed) => recorder.take(fed), new AbortController().signal);
}

describe('/metrics', () => {
  it('has the totals of all journals and what is open, also after events were handed on twice', async () => {
    const [first, second] = [created(), created()];
    await store.createRuns([first, second].map((entry) => ({ created: entry, origin: ORIGIN })));
    await store.append(first.runId, [{ type: 'run.started' }, ...passed('US-001')]);
    const recorder = new MetricsRecorder(home);
    const dying = store.feedEvents(async (fed) => {
      await recorder.take(fed);
      throw new Error('killed');
    }, new AbortController().signal);
    await expect(dying).rejects.toThrow('killed');
    await record();
    await store.append(first.runId, [{ type: 'run.ended', stopReason: 'SUCCESS', detail: '' }]);
    await record();
    const { status, type, text } = await ask('/metrics', TOKEN);
    expect({ status, type }).toEqual({ status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' });
    for (const line of [
      'halo_runs_started_total 1',
      'halo_runs_ended_total{stop_reason="SUCCESS"} 1',
      'halo_story_landed_total 1',
      'halo_story_attempts_total{verdict="passed",stop_reason="SUCCESS",agent="-",class="-"} 1',
      'halo_runs{state="queued"} 1',
      'halo_stories{state="pending"} 2',
      'halo_workers{takes="any"} 0',
      'halo_redis_up 1',
      'halo_worker_slots{engine="local",state="free"} 0',
    ])
      expect(text.split('\n')).toContain(line);
  });

  it('has the slots of workers, what is left of the budget of the day, and the pauses of models', async () => {
    writeFileSync(join(home, 'config.toml'), '[budget]\nday_usd = 5\nday_tokens = 1000\n');
    const run = created();
    await store.createRuns([{ created: run, origin: ORIGIN }]);
    const until = new Date(Date.now() + 600_000).toISOString();
    const used = (model: string): JournalEntry => ({
      ...{ type: 'model.used', story: 'US-001', attempt: 1, model, told: 'all' },
      ...{ usage: { requests: 1, inputTokens: 1, cachedTokens: 0, outputTokens: 1 }, tokens: 2 },
    });
    await store.append(run.runId, [
      ...[used('a'), used('b')],
      { type: 'model.paused', story: 'US-001', attempt: 1, model: 'b', why: 'provider', until },
    ]);
    await record();
    const link = await connectRedis(hostOf(home));
    const queue = await openQueue(link);
    await queue.enqueue({ runId: run.runId, ordinal: 0, attempt: 1 });
    let finish: (result: { kind: 'done' }) => void = () => undefined;
    const consumer = new JobConsumer(link, {
      concurrency: 3,
      handle: () => new Promise((resolve) => void (finish = resolve)),
      onError: () => undefined,
    });
    const ledger = await openBudgetLedger(link);
    onTestFinished(async () => {
      finish({ kind: 'done' });
      await consumer.close(500);
      ledger.close();
      await queue.close();
      await link.close();
    });
    expect((await ask('/metrics', TOKEN)).text).not.toContain('halo_budget_remaining_usd{');
    await consumer.start();
    await enterPeriod(DAY_MS);
    const day = `day:${new Date().toISOString().slice(0, 10)}`;
    await ledger.restore(day, { microUsd: 1_250_000, tokens: 100 });
    const scopes = [{ name: 'day' as const, key: day }];
    await ledger.reserve({
      ...{
        id: 'r:s:e1:1',
        model: 'host/a',
        keys: ['env:K'],
        scopes,
        input: 50,
        inputUsd: 250_000,
        output: 50,
        least: 1,
        outputPrice: 0,
      },
    });
    await vi.waitFor(async () => {
      const lines = (await ask('/metrics', TOKEN)).text.split('\n');
      for (const line of [
        'halo_worker_slots{engine="local",state="busy"} 1',
        'halo_worker_slots{engine="local",state="free"} 2',
        'halo_budget_remaining_usd{budget="day"} 3.5',
        'halo_budget_remaining_tokens{budget="day"} 800',
        'halo_model_paused_seconds{model="a"} 0',
      ])
        expect(lines).toContain(line);
      const paused = lines.find((line) => line.startsWith('halo_model_paused_seconds{model="b"} '));
      expect(Number(paused?.split(' ')[1])).toBeGreaterThan(500);
    }, PATIENCE);
  });

  it('remember how far open runs were counted, and only the newest of those that have ended', async () => {
    const ended = (entry: JournalEntry) => [entry, { type: 'run.ended', stopReason: 'SUCCESS', detail: '' } as const];
    const recorder = new MetricsRecorder(home);
    const take = async (entries: readonly JournalEntry[], runId: string) => {
      const events = journalOf(entries);
      await recorder.take({ runId, events, state: stateOf(...entries), end: 0 });
    };
    const open = created();
    await take([open], open.runId);
    for (let run = 0; run < 150; run++) {
      const { runId, ...rest } = created();
      await take(ended({ runId, ...rest }), runId);
    }
    const { totals, runs } = await new MetricsFile(home).read();
    expect(Object.keys(runs)).toHaveLength(102);
    expect(Object.keys(runs)).toContain(open.runId);
    expect(toExposition(totals, [])).toContain('halo_runs_ended_total{stop_reason="SUCCESS"} 150\n');
  });

  it('is answered without Redis, with what the files have', async () => {
    await served.close();
    await operations.close();
    operations = openLocal({ host: hostOf(home, 'redis://127.0.0.1:1') });
    await serve();
    const { status, text } = await ask('/metrics', TOKEN);
    expect(status).toBe(200);
    expect(text).toContain('\nhalo_redis_up 0\n');
    expect(text).toContain('\nhalo_workers{takes="any"} 0\n');
    expect(text).not.toContain('halo_worker_slots{');
  });

  it('needs a token of a user of all repositories, unless the server makes it public', async () => {
    const users = new Users(home);
    await users.add({ name: 'all', role: 'viewer' }, NOW);
    await users.add({ name: 'some', role: 'admin', repositories: ['/srv/shop'] }, NOW);
    const tokenOf = async (name: string) => (await users.createToken(name, undefined, NOW)).token;
    const statusOf = async (token?: string) => (await ask('/metrics', token)).status;
    expect([await statusOf(), await statusOf(await tokenOf('all')), await statusOf(await tokenOf('some'))]).toEqual([
      401, 200, 403,
    ]);
    await served.close();
    await serve('public');
    expect([await statusOf(), (await ask('/v1/runs')).status]).toEqual([200, 401]);
  });

  it('has every metric of the dashboard, the alerts and the documentation, in a format that promtool accepts', async () => {
    const { text } = await ask('/metrics', TOKEN);
    const known = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    const namesIn = (file: string) =>
      [...readFileSync(join(ROOT, file), 'utf8').matchAll(/\bhalo_[a-z_]+/g)].map(([name]) =>
        name.replace(/_bucket$/, ''),
      );
    for (const file of ['monitoring/grafana.json', 'monitoring/alerts.yaml', 'docs/monitoring.md'])
      expect({ file, unknown: namesIn(file).filter((name) => !known.has(name)) }).toEqual({ file, unknown: [] });
    const documented = namesIn('docs/monitoring.md');
    expect(Object.keys(COUNTERS).filter((name) => !documented.includes(`halo_${name}`))).toEqual([]);
  });

  it('is accepted by promtool, as are the alerts', skipFor(!hasPromtool() && 'needs promtool'), async () => {
    const { text } = await ask('/metrics', TOKEN);
    const promtool = (args: string[], input = '') =>
      execFileSync('promtool', args, { cwd: join(ROOT, 'monitoring'), input, encoding: 'utf8', stdio: 'pipe' });
    expect(promtool(['check', 'metrics'], text)).toBe('');
    expect(promtool(['check', 'rules', 'alerts.yaml'])).toContain('SUCCESS');
    expect(promtool(['test', 'rules', 'alerts.test.yaml'])).toContain('SUCCESS');
  });
});

describe('the health of a server', () => {
  it('needs no token, and has no details', async () => {
    expect(await ask('/healthz')).toMatchObject({ status: 200, text: 'ok\n' });
    expect(await ask('/readyz')).toMatchObject({ status: 200, text: 'ok\n' });
    missing = ['redis'];
    expect(await ask('/readyz')).toMatchObject({ status: 503, text: 'not ready: redis\n' });
    expect(await ask('/healthz')).toMatchObject({ status: 200 });
  });
});

function hasPromtool(): boolean {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
