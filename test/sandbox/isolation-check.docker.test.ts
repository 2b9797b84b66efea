import { beforeAll, describe, expect, it } from 'vitest';
import { openDockerEngine } from '../../src/sandbox/docker/engine.ts';
import {
  judgeIsolation,
  LIMIT_IGNORED,
  type IsolationMeasurements,
} from '../../src/sandbox/isolation-check/judge-isolation.ts';
import {
  openIsolationCheck,
  runIsolationScript,
  checkIsolation,
} from '../../src/sandbox/isolation-check/check-isolation.ts';
import { ProbeCache } from '../../src/sandbox/probe-cache.ts';
import type { SandboxEngine } from '../../src/sandbox/sandbox.ts';
import { tempDir } from '../support/temp-dir.ts';

const engine = openDockerEngine();
let home: string;
beforeAll(() => {
  home = tempDir('halo-prove');
});

describe.concurrent('the isolation check of an engine', () => {
  it('passes all checks here', async () => {
    const facts = await runIsolationScript(engine, undefined);
    expect(facts.filter(({ ok }) => ok === 'fail')).toEqual([]);
    expect(facts.map(({ name }) => name)).toEqual([
      'capabilities',
      'privileges',
      'system calls',
      'network',
      'name server',
      'root',
      'folders in memory',
      'memory limit',
      'processes',
      'cpu',
      'files',
      'memory',
      'security module',
      'memory of others',
      'terminals',
    ]);
    expect(facts.at(-1)).toMatchObject({ ok: 'ok' });
  });

  it('refuses an unknown runtime, and lists the known ones', async () => {
    await expect(openIsolationCheck(engine, new ProbeCache(engine, home))('runsc')).rejects.toMatchObject({
      code: 'DOCKER_UNSAFE',
      stopReason: 'CANNOT_START',
      message: 'The container engine has no runtime "runsc".',
      hint: expect.stringContaining('runc') as string,
    });
  });

  it('accepts runc by name', async () => {
    expect(await openIsolationCheck(engine, new ProbeCache(engine, home))('runc')).toMatchObject({ runtime: 'runc' });
  });

  it('refuses an engine that ignores limits, and names them', async () => {
    const lax: SandboxEngine = {
      ...engine,
      start: (spec) => engine.start({ ...spec, limits: { ...spec.limits, pids: 500, memoryBytes: 1024 ** 3 } }),
    };
    await expect(checkIsolation(lax, await engine.info(), 'auto')).rejects.toMatchObject({
      code: 'DOCKER_UNSAFE',
      message: expect.stringMatching(/limit of memory is (not set|ignored).*limit of processes is ignored/) as string,
      hint: expect.stringContaining('cgroup v2') as string,
    });
  });

  it('falls back to the default with a message if runsc does not pass', async () => {
    const facts = { ...(await engine.info()), runtimes: ['runc', 'runsc'] };
    const half: SandboxEngine = {
      ...engine,
      start: ({ runtime, ...spec }) =>
        engine.start({ ...spec, limits: { ...spec.limits, pids: runtime === 'runsc' ? 500 : spec.limits.pids } }),
    };
    const proof = await checkIsolation(half, facts, 'auto');
    expect(proof.runtime).toBeUndefined();
    expect(proof.facts.at(-1)).toMatchObject({ name: 'runtime', ok: 'warn' });
    await expect(checkIsolation(half, facts, 'runsc')).rejects.toMatchObject({ code: 'DOCKER_UNSAFE' });
  });

  it('uses runsc if it passes', async () => {
    const facts = { ...(await engine.info()), runtimes: ['runc', 'runsc'] };
    const able: SandboxEngine = { ...engine, start: (spec) => engine.start({ ...spec, runtime: 'runc' }) };
    expect(await checkIsolation(able, facts, 'auto')).toMatchObject({ runtime: 'runsc' });
  });
});

describe('the measurements of the check are judged:', () => {
  const report: IsolationMeasurements = {
    status: { CapInh: '0', CapPrm: '0', CapEff: '0', CapBnd: '0', CapAmb: '0', NoNewPrivs: '1', Seccomp: '2' },
    interfaces: ['lo'],
    mounts: { '/': ['ro'] },
    sizes: {
      '/tmp': [512 * 1024 ** 2, 102_400],
      '/home/agent': [256 * 1024 ** 2, 102_400],
      '/run': [8 * 1024 ** 2, 1_024],
      '/dev/shm': [128 * 1024 ** 2, 9_999_999],
    },
    cgroup: { 'memory.max': '67108864', 'pids.max': '24', 'cpu.max': '50000 100000' },
    rlimits: { nofile: [8192, 8192], core: [0, 0], fsize: [1024 ** 3, 1024 ** 3] },
    refused: { mount: 1, bpf: 1 },
    resolver: '',
    ptraceScope: '1',
    label: 'docker-default (enforce)',
    forks: 20,
  };
  const failing = (changes: Partial<IsolationMeasurements>, more = '', own = false) =>
    judgeIsolation(`${JSON.stringify({ ...report, ...changes })}\n${more}`, own)
      .filter(({ ok }) => ok === 'fail')
      .map(({ name }) => name);

  it('cgroup v2 with all limits', () => expect(failing({})).toEqual([]));
  it('cgroup v1 with all limits', () => {
    const cgroup = {
      'memory/memory.limit_in_bytes': '67108864',
      'pids/pids.max': '24',
      'cpu/cpu.cfs_quota_us': '50000',
      'cpu/cpu.cfs_period_us': '100000',
    };
    expect(failing({ cgroup })).toEqual([]);
  });
  it('a runtime with its own kernel shows no control groups and no filter', () => {
    const status = { ...report.status, Seccomp: '0' };
    expect(failing({ cgroup: {}, status }, '', true)).toEqual([]);
    expect(failing({ cgroup: {}, status })).toEqual(['system calls', 'memory limit', 'processes', 'cpu']);
  });
  it.each<[string, Partial<IsolationMeasurements>]>([
    ['capabilities', { status: { ...report.status, CapBnd: '00000000a80425fb' } }],
    ['privileges', { status: { ...report.status, NoNewPrivs: '0' } }],
    ['system calls', { refused: { mount: 1, bpf: 0 } }],
    ['network', { interfaces: ['lo', 'eth0'] }],
    ['name server', { resolver: 'nameserver 10.0.0.2' }],
    ['root', { mounts: { '/': ['rw'] } }],
    ['folders in memory', { sizes: { ...report.sizes, '/tmp': [1024 ** 3, 102_400] } }],
    ['memory limit', { cgroup: { ...report.cgroup, 'memory.max': 'max' } }],
    ['processes', { forks: null }],
    ['processes', { cgroup: { ...report.cgroup, 'pids.max': 'max' } }],
    ['cpu', { cgroup: { ...report.cgroup, 'cpu.max': 'max 100000' } }],
    ['files', { rlimits: { ...report.rlimits, fsize: [-1, -1] } }],
  ])('%s', (name, changes) => expect(failing(changes)).toEqual([name]));
  it('memory without a limit', () => expect(failing({}, `${LIMIT_IGNORED}\n`)).toEqual(['memory']));
  it('a sandbox without output', () => expect(judgeIsolation('', false)).toMatchObject([{ ok: 'fail' }]));
});
