import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { checkSandbox, checkSnapshots, judgeOpenFiles } from '../../../src/api/doctor/checks.ts';
import { checkQueue, diagnose } from '../../../src/api/doctor/diagnose.ts';
import { foldSame } from '../../../src/api/doctor/doctor-finding.ts';
import { addDeadLetter } from '../../../src/queue/dead-letters.ts';
import { connectRedis } from '../../../src/queue/redis/connect-redis.ts';
import { openDockerEngine } from '../../../src/sandbox/docker/engine.ts';
import { parseOpenFiles } from '../../../src/sandbox/docker/engine-info.ts';
import { probeCachePath } from '../../../src/sandbox/probe-cache.ts';
import type { EngineInfo, SandboxEngine } from '../../../src/sandbox/sandbox.ts';
import { openBreakerStore } from '../../../src/store/breaker-files.ts';
import { SnapshotFiles } from '../../../src/store/snapshot-files.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { casesAtLevel } from '../../support/suite/level.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { hostOf } from '../../support/halo/host.ts';

const engine = openDockerEngine();

async function findings(changes: Partial<EngineInfo>, more: Partial<SandboxEngine> = {}) {
  const facts = { ...(await engine.info()), ...changes };
  return checkSandbox({ ...engine, info: () => Promise.resolve(facts), ...more }, tmpdir());
}

it('shows each guarantee of a sandbox and how disk usage is limited', async () => {
  const home = tempDir('halo-doctor');
  const found = await diagnose(hostOf(home));
  expect(found.filter(({ ok }) => ok === 'fail')).toEqual([]);
  const names = found.map(({ name }) => name);
  for (const name of ['capabilities', 'system calls', 'network', 'memory', 'processes', 'cpu', 'disk', 'channel']) {
    expect(names).toContain(`sandbox: ${name}`);
  }
  const channel = found.find(({ name }) => name === 'sandbox: channel');
  expect(channel).toMatchObject({ ok: 'ok', says: expect.stringMatching(/^socket/) as string });
});

const AGENTS = casesAtLevel<[line: string, agent: RegExp, key: string]>(
  [['agent = "gemini"', /Gemini CLI [\d.]+ in halo-sandbox$/, 'GEMINI_API_KEY is not set']],
  [
    ['agent = "claude"', /Claude Code.* in halo-sandbox$/, 'ANTHROPIC_API_KEY is not set'],
    ['agent = "opencode"', /opencode [\d.]+ in halo-sandbox$/, 'ANTHROPIC_API_KEY is not set'],
  ],
);
it.each(AGENTS)('checks agent and key of the repository in which it is called: %s', async (line, agent, key) => {
  const { root } = newRepository({ 'halo.toml': `${line}\n` });
  const skipped = ['docker', 'image', 'sandbox', 'redis', 'snapshots', 'disk'];
  vi.stubEnv('ANTHROPIC_API_KEY', undefined).stubEnv('GEMINI_API_KEY', undefined).stubEnv('OPENAI_API_KEY', undefined);
  const found = await diagnose(hostOf(tempDir('halo-doctor')), { folder: root, skipped });
  const saysOf = (name: string) => found.find((finding) => finding.name === name)?.says;
  expect(saysOf('agent')).toMatch(agent);
  expect(saysOf('model key')).toBe(key);
});

it('shows how workspaces begin with snapshots, and how large they are', async () => {
  const home = tempDir('halo-doctor');
  const files = new SnapshotFiles(home);
  const facts = { v: 1 as const, setup: ['x'], commit: 'c'.repeat(40), run: '0tbq1aaaaaaaaaa', createdAt: '2026-01-01T00:00:00.000Z' }; // prettier-ignore
  const made = {
    digest: 'd'.repeat(64),
    bytes: 3 * 1024 ** 2,
    files: 1,
    volume: 'halo-snapshot-a',
    ms: 1,
    image: 'i',
    inputs: ['a'],
  };
  const publish = (record: Parameters<typeof files.publish>[0]['record']) =>
    files.publish({ mirror: 'shop-00000000', record, onlyRun: undefined });
  await publish({ ...facts, key: 'a'.repeat(64), ...made });
  await publish({ ...facts, key: 'b'.repeat(64), refused: 'it is too short' });
  const saysWith = async (can: boolean) =>
    (await checkSnapshots({ canOverlay: () => Promise.resolve(can) }, home)).says;
  expect(await saysWith(true)).toBe(
    'workspaces begin with an overlay; 1 snapshot, 3m; 1 refused, see `halo snapshot ls`',
  );
  expect(await saysWith(false)).toContain('so each workspace begins with a copy; 1 snapshot, 3m');
  const build = await files.announce('shop-00000000', 'halo-snapshot-b');
  symlinkSync(`${hostname()}:999999999:0`, join(home, 'snapshots/shop-00000000/uses/halo-snapshot-c@build'));
  const key = 'snapshot:shop-00000000';
  await openBreakerStore(home).update(key, (breaker) => ({
    breaker: { ...breaker, status: 'open', reason: 'setup\u001b differs', openedAt: 0 },
    result: undefined,
  }));
  expect(await checkSnapshots({ canOverlay: () => Promise.resolve(true) }, home)).toMatchObject({
    ok: 'warn',
    says: 'workspaces begin with an overlay; 1 snapshot, 3m; 1 being made; 1 interrupted, which the next worker removes; 1 refused, see `halo snapshot ls`; not used for shop-00000000: setup<U+001B> differs',
    fix: `halo breaker reset ${key}`,
  });
  await build.release();
});

it('doctor reports a fault that stops several checks once', () => {
  const gone = { ok: 'fail' as const, says: 'Docker does not answer.', fix: 'start it' };
  const fine = { name: 'git', ok: 'ok' as const, says: 'git 2.39' };
  const found = foldSame([fine, ...['docker', 'image', 'sandbox', 'agent'].map((name) => ({ name, ...gone }))]);
  expect(found).toEqual([fine, { name: 'docker, image, sandbox, agent', ...gone }]);
});

it('doctor reports foreign jobs in the queue, and how to clear them', async () => {
  const home = tempDir('halo-doctor');
  const link = await connectRedis({ home, redisUrl: undefined });
  try {
    const forged = {
      reason: 'its payload is not that of a halo job',
      queue: 'stories',
      id: '1',
      name: 'story',
      data: {},
    };
    await addDeadLetter(link.client, link.prefix, forged);
    const found = await checkQueue(hostOf(home));
    expect(found.map(({ ok }) => ok)).toEqual(['ok', 'warn']);
    expect(found[1]?.says).toContain('its payload is not that of a halo job');
    expect(found[1]?.fix).toContain(`del ${link.prefix}:dead-letters`);
  } finally {
    await link.close();
  }
});

it('fails when the engine ignores a limit', async () => {
  const start: SandboxEngine['start'] = (spec) => engine.start({ ...spec, limits: { ...spec.limits, pids: 500 } });
  const found = await findings({}, { start });
  expect(found.find(({ name }) => name === 'sandbox: processes')).toMatchObject({
    ok: 'fail',
    says: 'the limit of processes is ignored',
  });
});

const AGES = casesAtLevel<[runc: string, docker: string, old: string[]]>(
  [
    ['1.1.5+ds1', '20.10.24', ['runc', 'docker']],
    ['1.2.8', '28.1', []],
  ],
  [
    ['1.3.2', '25.0.6', ['runc']],
    ['1.3.3', '28.1', []],
  ],
);
it.each(AGES)(
  'warns about outdated programs, and not about current ones: runc %s, Docker %s',
  async (runc, version, old) => {
    const found = await findings({ runc, version });
    expect(found.filter(({ says }) => says.includes('is old')).map(({ name }) => name)).toEqual(old);
  },
);

it('warns about an engine with a low limit of open files, if the limit is visible', () => {
  const limits = (soft: string) =>
    `Limit                     Soft Limit           Hard Limit           Units     \nMax open files            ${soft.padEnd(20)} 524288               files     \n`;
  const warned = (soft: string) => judgeOpenFiles(parseOpenFiles(limits(soft))).map(({ says }) => says);
  expect(warned('1024')).toEqual(['the engine may have only 1024 files open at a time: containers fail at this limit']);
  expect([...warned('1048576'), ...warned('unlimited')]).toEqual([]);
  expect(judgeOpenFiles(undefined)).toEqual([]);
});

it('says what is unknown about an engine on another machine', async () => {
  const found = await findings({}, { isHere: () => Promise.resolve(false), openFiles: () => Promise.resolve(10) });
  const says = 'the engine does not run on this machine: its limit of open files and its load are unknown';
  expect(found).toContainEqual({ name: 'docker', ok: 'ok', says });
});

it('reports that a runtime which fails the check is not used', async () => {
  const start: SandboxEngine['start'] = ({ runtime, ...spec }) =>
    engine.start({ ...spec, limits: { ...spec.limits, pids: runtime === undefined ? spec.limits.pids : 500 } });
  const found = await findings({ runtimes: ['runc', 'runsc'] }, { start });
  expect(found.find(({ name }) => name === 'runtime runsc')).toMatchObject({ ok: 'warn' });
});

it('clears the cached results of the probes, so that the next worker probes again', async () => {
  const home = tempDir('halo-doctor');
  writeFileSync(probeCachePath(home), '{}');
  const offline = { ...engine, info: () => Promise.reject(new Error('no engine')) };
  await expect(checkSandbox(offline, home)).rejects.toThrow('no engine');
  expect(existsSync(probeCachePath(home))).toBe(false);
});

it('reports how sandboxes reach the gateway: over stdio if no socket can be mounted', async () => {
  const channelOf = async (more: Partial<SandboxEngine>) =>
    (await findings({}, more)).find(({ name }) => name === 'sandbox: channel');
  const [no, none] = [() => Promise.resolve(false), () => Promise.resolve({ socket: false, pipe: false })];
  expect(await channelOf({ canReach: none })).toMatchObject({
    ok: 'ok',
    says: expect.stringMatching(/^stdio/) as string,
  });
  expect(await channelOf({ canReach: none, canBridge: no })).toMatchObject({ ok: 'fail' });
});
