import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, onTestFinished } from 'vitest';
import type { OtlpTraces } from '../../../src/features/telemetry/core/to-trace.ts';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { openStore } from '../../../src/store/store.ts';
import { TraceExporter } from '../../../src/features/telemetry/worker/trace-exporter.ts';
import { test } from '../../support/fixtures.ts';
import { created, passed } from '../../support/journal.ts';

const origin = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} };
const END = { type: 'run.ended', stopReason: 'SUCCESS', detail: '' } as const;
const SECRET = 'a-secret-of-the-collector';

/** A collector that keeps what it accepts. */
async function openCollector(statuses: number[] = []) {
  const received: { url: string | undefined; headers: IncomingHttpHeaders; traces: OtlpTraces }[] = [];
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const status = statuses.shift() ?? 200;
      const traces = JSON.parse(Buffer.concat(chunks).toString()) as OtlpTraces;
      if (status === 200) received.push({ url: req.url, headers: req.headers, traces });
      res.writeHead(status).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function open(home: string, endpoint: string) {
  writeFileSync(join(home, 'config.toml'), `[traces]\nendpoint = "${endpoint}"\nheaders_env = "OTLP_HEADERS"\n`);
  const store = openStore(home, { transcribe: () => [] });
  const run = created();
  await store.createRun(run, origin);
  await store.append(run.runId, [{ type: 'run.started' }, ...passed('US-001'), END]);
  const events = await store.readJournal(run.runId);
  const state = await store.readState(run.runId);
  let now = Date.now();
  const exporter = () =>
    new TraceExporter({
      home,
      store,
      log: pino({ level: 'silent' }),
      now: () => now,
      env: { OTLP_HEADERS: `authorization=Bearer ${SECRET}, x-team=halo` },
      masker: openMasker(),
    });
  const fed = { runId: run.runId, events, state, end: 1 };
  return { store, fed, exporter, later: (ms: number) => (now += ms), files: () => readdirSync(join(home, 'traces')) };
}

describe('traces', () => {
  test('are sent once a run has ended, with the headers of the collector', async ({ home }) => {
    const { received, url } = await openCollector();
    const { fed, exporter, files } = await open(home, `${url}/`);
    const traces = exporter();
    await traces.take(fed);
    expect(files()).toHaveLength(1);
    traces.flush(false);
    await traces.settle();
    expect(received).toMatchObject([
      { url: '/v1/traces', headers: { authorization: `Bearer ${SECRET}`, 'x-team': 'halo' } },
    ]);
    const spans = received[0]?.traces.resourceSpans[0]?.scopeSpans[0]?.spans ?? [];
    expect(spans.map(({ name }) => name).slice(1)).toEqual([
      'US-001',
      'prepare',
      expect.stringMatching(/^invoke_agent \w+$/),
      'gates',
    ]);
    expect(files()).toEqual([]);
  });

  test('are sent by the next worker with the same ids if one died before the collector answered', async ({ home }) => {
    const { received, url } = await openCollector([503]);
    const { fed, exporter, later, files } = await open(home, url);
    const first = exporter();
    await first.take(fed);
    first.flush(false);
    await first.settle();
    expect([received.length, files().length]).toEqual([0, 1]);
    first.flush(false);
    await first.settle();
    expect(received.length, 'not again immediately').toBe(0);
    const next = exporter();
    // Events are handed on again after a crash.
    await next.take(fed);
    next.flush(false);
    await next.settle();
    later(10_000);
    first.flush(false);
    await first.settle();
    expect([received.length, files().length]).toEqual([1, 0]);
  });

  test('are dropped if the collector refuses them, is not configured any more, or a day has passed', async ({
    home,
  }) => {
    const { received, url } = await openCollector([400]);
    const { fed, exporter, files } = await open(home, url);
    const traces = exporter();
    await traces.take(fed);
    traces.flush(false);
    await traces.settle();
    expect([received.length, files().length]).toEqual([0, 0]);
    await traces.take(fed);
    const [name = ''] = files();
    utimesSync(join(home, 'traces', name), 1_000, 1_000);
    traces.flush(false);
    await traces.settle();
    expect([received.length, files().length]).toEqual([0, 0]);
    await traces.take(fed);
    writeFileSync(join(home, 'config.toml'), '');
    traces.flush(false);
    await traces.settle();
    await traces.take(fed);
    expect([received.length, files().length]).toEqual([0, 0]);
  });

  test('are sent by the last valid settings while the file is invalid', async ({ home }) => {
    const { received, url } = await openCollector();
    const { fed, exporter } = await open(home, url);
    const traces = exporter();
    await traces.take({ ...fed, events: [] });
    await traces.take(fed);
    writeFileSync(join(home, 'config.toml'), '[traces\n');
    await traces.take(fed);
    traces.flush(false);
    await traces.settle();
    expect(received).toHaveLength(1);
    await expect(exporter().take(fed)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  test('are sent although others are of runs that were removed', async ({ home }) => {
    const { received, url } = await openCollector();
    const { fed, exporter, files } = await open(home, url);
    mkdirSync(join(home, 'traces'));
    for (const name of ['notes.txt', '0000000000000aa-3']) writeFileSync(join(home, 'traces', name), '');
    const traces = exporter();
    await traces.take(fed);
    traces.flush(true);
    await traces.settle();
    expect([received.length, files()]).toEqual([1, ['notes.txt']]);
  });
});
