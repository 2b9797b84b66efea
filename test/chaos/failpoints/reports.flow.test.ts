import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Failpoint, Fault } from '../../../src/core/failure/failpoint-names.ts';
import { FORGES, type ForgeName } from '../../../src/core/forge-name.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { openQueue } from '../../../src/queue/queue.ts';
import { connectRedis } from '../../../src/queue/redis/connect-redis.ts';
import { IssueReportFiles } from '../../../src/store/forge-files.ts';
import { openStore } from '../../../src/store/store.ts';
import { IssueReporter } from '../../../src/features/issues/worker/issue-reporter.ts';
import { FULL, LEVEL } from '../../support/suite/level.ts';
import { REPORT_POINTS } from '../../support/faults/points.ts';
import { FAKE_PROJECT, openFakeForge, type FakeForge } from '../../support/forge/fake-forge.ts';
import { buildSources, type Built } from '../../support/halo/build.ts';
import { hostOf } from '../../support/halo/host.ts';
import { attempted, COMMIT, created, passed } from '../../support/journal.ts';
import { expireLeases } from '../../support/redis/expire-leases.ts';
import { openRedisServer, type RedisServer } from '../../support/redis/redis-server.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { PATIENCE } from '../../support/patience.ts';

vi.setConfig({ maxConcurrency: 2 });

const ORIGIN = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} };
const END: JournalEntry = { type: 'run.ended', stopReason: 'SUCCESS', detail: 'Done.' };
const TOKEN = 'FORGE_TOKEN';
const MODULES = {
  armFailpoints: 'lib/failpoint',
  connectRedis: 'queue/redis/connect-redis',
  IssueReporter: 'features/issues/worker/issue-reporter',
  openMasker: 'lib/secrets/masker',
  openQueue: 'queue/queue',
  openStore: 'store/store',
};
const CASES = REPORT_POINTS.flatMap((at) => {
  const faults: Fault[] = LEVEL < FULL ? ['kill'] : ['kill', 'hang', 'throw', 'delay'];
  return faults.map((fault) => [at, fault] as const);
});

let built: Built;
let redis: RedisServer;
beforeAll(async () => {
  built = buildSources(...Object.values(MODULES));
  redis = await openRedisServer();
});
afterAll(async () => {
  built.remove();
  await redis.close();
});

describe.concurrent('hazard 1: a process that reports to an issue has a fault, and the next one completes the report', () => {
  it.for(CASES)('%s: %s', async ([at, fault], { task }) => {
    // Each forge has its own way to set labels and to find comments.
    const kind = FORGES[REPORT_POINTS.indexOf(at) % FORGES.length]!;
    const forge = await openFakeForge(kind);
    try {
      const { home, runId } = await runReported(forge, kind);
      const issue = forge.issues.get(42)!;
      expect(issue.labels).toEqual(['halo', 'halo:in-progress']);
      await storeOf(home).append(runId, [...passed('#42').slice(-1), END]);
      forge.landed.add(COMMIT);
      await reportWithFault(home, forge, { at, fault });
      await reportOnce(home, forge);
      expect(issue.labels).toEqual(['halo', 'halo:done']);
      expect(issue.comments).toEqual([expect.stringContaining(`commit \`${COMMIT.slice(0, 12)}\``)]);
      expect(issue.state).toBe('closed');
      expect(existsSync(join(home, 'issue-reports', `${runId}.json`))).toBe(false);
      task.meta.chaos = [{ at, fault, outcome: OUTCOMES[fault] }];
    } finally {
      await forge.close();
    }
  });
});

const OUTCOMES: Record<Fault, string> = {
  kill: 'continues',
  hang: 'taken over',
  throw: 'recovered',
  delay: 'continues',
};

const storeOf = (home: string) => openStore(home, { transcribe: () => [] });

/** A home with a run whose only story is issue 42, which shows that the story runs. */
async function runReported(forge: FakeForge, kind: ForgeName): Promise<{ home: string; runId: string }> {
  const home = tempDir('halo-reports');
  const settings = `[forge.${kind}]\nurl = "${forge.url}"\ntoken_env = "${TOKEN}"\n[issues]\nreport = true\nclose = true\n`;
  writeFileSync(join(home, 'config.toml'), settings);
  forge.add({ number: 42 });
  const first = created(undefined, ['#42']);
  const issues = { forge: kind, project: FAKE_PROJECT, label: 'halo' };
  await storeOf(home).createRun({ ...first, issues }, ORIGIN);
  await new IssueReportFiles(home).add(first.runId);
  await storeOf(home).append(first.runId, [{ type: 'run.started' }, ...attempted('#42')]);
  await reportOnce(home, forge);
  return { home, runId: first.runId };
}

async function reportWithFault(
  home: string,
  forge: FakeForge,
  { at, fault }: { at: Failpoint; fault: Fault },
): Promise<void> {
  const { child, stderr, ended } = startReport(home, forge, { at, fault });
  if (fault === 'hang') {
    await vi.waitFor(() => expect(stderr()).toContain(`failpoint ${at}: hang`), PATIENCE);
    child.kill('SIGKILL');
  }
  await ended;
  const isKilled = fault === 'kill' || fault === 'hang';
  expect([child.exitCode, child.signalCode], stderr()).toEqual(isKilled ? [null, 'SIGKILL'] : [0, null]);
  if (!isKilled) expect(stderr()).toContain(`failpoint ${at}: ${fault}`);
  await expireLeases(home, redis.socket);
}

/** The next worker, which ends after one report. */
async function reportOnce(home: string, forge: FakeForge): Promise<void> {
  const link = await connectRedis(hostOf(home, redis.url));
  const queue = await openQueue(link);
  const log = pino({ level: 'silent' });
  const env = { [TOKEN]: forge.token };
  const context = { home, store: storeOf(home), log, now: Date.now, env, masker: openMasker() };
  await new IssueReporter(context, queue, undefined).close();
  await queue.close();
  await link.close();
}

/** The same in a process of its own, with a fault. */
function startReport(home: string, forge: FakeForge, { at, fault }: { at: Failpoint; fault: Fault }) {
  const imports = Object.entries(MODULES).map(
    ([name, module]) => `import { ${name} } from ${JSON.stringify(built.module(module))};`,
  );
  const script = `${imports.join('\n')}
    const home = ${JSON.stringify(home)};
    const link = await connectRedis({ home, redisUrl: ${JSON.stringify(redis.url)} });
    const queue = await openQueue(link);
    const log = { warn: ({ err }, text) => console.error(text, err) };
    const store = openStore(home, { transcribe: () => [] });
    const context = { home, store, log, now: Date.now, env: process.env, masker: openMasker() };
    armFailpoints([{ at: ${JSON.stringify(at)}, fault: ${JSON.stringify(fault)}, ms: 50 }]);
    await new IssueReporter(context, queue, undefined).close();
    await queue.close();
    await link.close();`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, [TOKEN]: forge.token },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const chunks: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
  return { child, stderr: () => Buffer.concat(chunks).toString(), ended: once(child, 'close') };
}
