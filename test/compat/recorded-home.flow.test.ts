import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLocal } from '../../src/api/local.ts';
import type { Operations } from '../../src/api/operations.ts';
import { startWorker } from '../../src/worker/main.ts';
import { hostOf } from '../support/halo/host.ts';
import { callHalo } from '../support/terminal/call-halo.ts';

/** As long as the path that was recorded, so that recorded offsets stay right. */
const dir = mkdtempSync('/tmp/halo-recorded-');
const shop = join(dir, 'shop');
const printed = (name: string) => readFileSync(join(dir, 'printed', name), 'utf8');

let runs: Record<string, string>;

/** What a command prints now, with the recorded home. */
async function halo(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await callHalo(words, { cwd: shop, env: { HALO_HOME: join(dir, 'home') } });
  if (code !== 0) throw new Error(`halo ${words.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}

beforeAll(() => {
  execFileSync('tar', ['-xzf', join(import.meta.dirname, 'fixtures/before-names.tar.gz'), '-C', dir]);
  const recorded = readFileSync(join(dir, 'path.txt'), 'utf8');
  expect(dir).toHaveLength(recorded.length);
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = readFileSync(path, 'latin1');
    if (!/\/(\.git|[a-z]+\.git|views)\//.test(path) && bytes.includes(recorded))
      writeFileSync(path, bytes.replaceAll(recorded, dir), 'latin1');
  }
  const lines = readFileSync(join(dir, 'runs.txt'), 'utf8').trim().split('\n');
  runs = Object.fromEntries(lines.map((line) => line.split(' ') as [string, string]));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('a HALO_HOME of the version before files and names were changed', () => {
  test('every run is listed with the state it had', async () => {
    const now = JSON.parse(await halo('ls', '--json')) as { runId: string }[];
    const before = JSON.parse(printed('ls.json')) as object[];
    // Later versions have further keys.
    expect(now).toMatchObject(before);
    expect(now).toHaveLength(before.length);
    expect(now.map(({ runId }) => runId).sort()).toEqual(Object.values(runs).sort());
  });

  test.each(['landed', 'failed', 'waiting', 'queued', 'paused', 'cancelled', 'after'])(
    'the journal and the diff of the %s run are read as they were',
    async (name) => {
      const run = runs[name] ?? '';
      expect(await halo('logs', run, '--json')).toBe(printed(`${name}.logs.json`));
      expect(await halo('diff', run)).toBe(printed(`${name}.diff`));
    },
  );

  test('the configuration file is read as it was', async () => {
    // Later versions have further keys.
    expect(JSON.parse(await halo('config', 'show', '--json'))).toMatchObject(
      JSON.parse(printed('config.json')) as object,
    );
  });

  test('a waiting story is approved, a failed one retried, and queued and paused runs are executed', async () => {
    const host = hostOf(join(dir, 'home'));
    const operations = openLocal({ host });
    const stateOf = async (name: string) => (await operations.get(runs[name] ?? '')).state;
    await operations.approve(runs.waiting ?? '', 'C-1', { confirm: ['protected'] });
    await operations.resume(runs.paused ?? '', {});
    await operations.retry(runs.failed ?? '', undefined, { set: ['gates=["test -s done.txt"]'], yes: true });
    const worker = await startWorker({ host, concurrency: 2, log: pino({ level: 'silent' }) });
    for (const name of ['queued', 'paused', 'failed', 'after'])
      expect(await ended(operations, runs[name] ?? '')).toBe('run.ended');
    await worker.close();
    for (const name of ['waiting', 'queued', 'paused', 'failed', 'after'])
      expect(await stateOf(name), name).toMatchObject({ stopReason: 'SUCCESS' });
    expect(await stateOf('cancelled')).toMatchObject({ stopReason: 'USER_ABORT' });
    await operations.close();
  });
});

/** Resolves with the last event when the run has ended. */
async function ended(operations: Operations, runId: string): Promise<string | undefined> {
  let last: string | undefined;
  for await (const { type } of operations.follow(runId, { after: 0, follow: true })) last = type;
  return last;
}
