import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Users } from '../../../src/api/access/users.ts';
import { serveApi, type Served } from '../../../src/api/http/serve-api.ts';
import { openLocal, type LocalOperations } from '../../../src/api/local.ts';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import { COUNTERS } from '../../../src/core/metrics/metric-totals.ts';
import { openStore, type Store } from '../../../src/store/store.ts';
import { MetricsRecorder } from '../../../src/worker/feed/metrics-recorder.ts';
import { hostOf } from '../../support/halo/host.ts';
import { created, passed } from '../../support/journal.ts';
import { skipFor } from '../../support/skip.ts';
import { tempDir } from '../../support/temp-dir.ts';

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

async function serve(publicMetrics = false): Promise<void> {
  served = await serveApi({
    operations,
    listen: '127.0.0.1:0',
    host: { ...hostOf(home), apiToken: TOKEN },
    rules: { requestsPerMinute: 0, publicMetrics },
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
      'halo_story_attempts_total{verdict="passed",stop_reason="SUCCESS"} 1',
      'halo_runs{state="queued"} 1',
      'halo_stories{state="pending"} 2',
      'halo_workers{takes="any"} 0',
    ])
      expect(text.split('\n')).toContain(line);
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
    await serve(true);
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
