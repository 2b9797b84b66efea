import { randomBytes } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import Docker from 'dockerode';
import { afterAll, describe, expect, it } from 'vitest';
import { discardSink } from '../../src/lib/streams.ts';
import { openDockerEngine } from '../../src/sandbox/docker/engine.ts';
import { measureVolume } from '../../src/sandbox/docker/disk/disk-meter.ts';
import type { SandboxExit, SandboxSpec } from '../../src/sandbox/sandbox.ts';
import { belowFull } from '../support/suite/level.ts';
import { skipFor } from '../support/skip.ts';

const engine = openDockerEngine();
const labels = { run: 'test', storyKey: 'disk', attempt: 1, phase: 'test' };
const MIB = 1024 ** 2;
const limits = { cpus: 2, memoryBytes: 512 * MIB, pids: 64, diskBytes: 48 * MIB, freeDiskBytes: MIB };

const USER = 34_568;

// Tests that run at the same time have volumes of their own.
const volumes = new Set<string>();
afterAll(async () => {
  for (const volume of volumes) await engine.removeVolume(volume);
});

async function workspace(changes: Partial<SandboxSpec['limits']> = {}): Promise<SandboxSpec> {
  const source = `halo-test-disk-${randomBytes(4).toString('hex')}`;
  await engine.createVolume(source, labels, { user: USER });
  volumes.add(source);
  return {
    image: 'halo-sandbox',
    labels,
    user: USER,
    workdir: '/workspace',
    env: {},
    mounts: [{ kind: 'volume', source, target: '/workspace', readOnly: false, copyUp: true }],
    limits: { ...limits, ...changes },
  };
}

const volumeOf = ({ mounts: [mount] }: SandboxSpec) => (mount?.kind === 'volume' ? mount.source : '');

async function run(spec: SandboxSpec, script: string): Promise<SandboxExit> {
  const sandbox = await engine.start(spec);
  try {
    const most = { wallMs: 50_000, idleMs: 50_000, outputBytes: 1_000_000 };
    return await sandbox.run({ script, stdout: discardSink(), stderr: discardSink(), ...most });
  } finally {
    await sandbox.remove();
  }
}

// They wait for measurements.
describe.concurrent('hazard 17: the limit of a workspace', () => {
  it('kills a sandbox that fills it', async () => {
    const exit = await run(await workspace(), 'dd if=/dev/zero of=big bs=1M count=100 2>/dev/null; sleep 40');
    expect(exit).toMatchObject({ ended: 'disk', exitCode: undefined });
  });

  it('kills a sandbox that fills it with empty files', async () => {
    const script = `python3 -c "
import os, time
for i in range(6000): open(f'f{i}', 'x').close()
time.sleep(40)"`;
    expect(await run(await workspace({ diskBytes: 16 * MIB }), script)).toMatchObject({ ended: 'disk' });
  });

  it('kills a sandbox that writes into a folder that cannot be listed', async () => {
    const script = 'mkdir hidden; chmod 300 hidden; dd if=/dev/zero of=hidden/x bs=1M count=200 2>/dev/null; sleep 40';
    expect(await run(await workspace(), script)).toMatchObject({ ended: 'disk' });
  });

  it('applies across the commands of one workspace', async () => {
    const spec = await workspace();
    const step = (name: string) => `dd if=/dev/zero of=${name} bs=1M count=30 2>/dev/null; sleep 2`;
    expect(await run(spec, step('first'))).toMatchObject({ ended: 'exited', exitCode: 0 });
    expect(await run(spec, `${step('second')}; sleep 40`)).toMatchObject({ ended: 'disk' });
  });

  it('leaves a sandbox below it running while others write', async () => {
    const [small, big] = [await workspace(), await workspace({ diskBytes: 1024 ** 3 })];
    const [one, other] = await Promise.all([
      run(small, 'dd if=/dev/zero of=a bs=1M count=20 2>/dev/null; sleep 4'),
      run(big, 'dd if=/dev/zero of=a bs=1M count=150 2>/dev/null; sleep 3'),
    ]);
    expect([one.ended, other.ended]).toEqual(['exited', 'exited']);
  });

  it('is measured without access to the engine’s folders', async () => {
    const spec = await workspace({ diskBytes: 1024 ** 3 });
    await run(spec, 'dd if=/dev/zero of=a bs=1M count=10 2>/dev/null; mkdir d; touch d/b');
    const usage = await measureVolume((each) => engine.start(each), spec, { volume: volumeOf(spec) });
    expect(usage).toMatchObject({ complete: true });
    expect(usage.bytes).toBeGreaterThanOrEqual(10 * MIB);
    expect(usage.bytes).toBeLessThan(11 * MIB);
    expect(usage.freeBytes).toBeGreaterThan(0);
  });
});

describe('incident endless-depth: a workspace deeper than the engine can have files open', () => {
  const DEEP = `python3 -c "
import os
for i in range(21000):
    os.mkdir('d'); os.chdir('d')
os.chmod('.', 0)"
mkdir -p closed/in 'odd\n\xff'; touch closed/in/file; chmod 0 closed`;

  it('is removed with its contents', skipFor(belowFull()), async () => {
    const spec = await workspace({ diskBytes: 1024 ** 3 });
    const name = volumeOf(spec);
    volumes.delete(name);
    expect(await run(spec, DEEP)).toMatchObject({ exitCode: 0 });
    await engine.removeResource({ kind: 'volume', name });
    await expect(new Docker().getVolume(name).inspect()).rejects.toMatchObject({ statusCode: 404 });
  });

  it(
    'is removed with its contents if it is an overlay, in which the kernel keeps a folder that the user cannot change',
    skipFor(belowFull()),
    async () => {
      const spec = await workspace({ diskBytes: 1024 ** 3 });
      const [lower, upper] = [volumeOf(spec), volumeOf(await workspace())];
      const name = `${upper}-overlay`;
      await run(spec, 'mkdir lower');
      await engine.createOverlay({ name, upper, lower, user: USER }, labels);
      const mounts = spec.mounts.map((mount) => ({ ...mount, source: name }));
      expect(await run({ ...spec, mounts }, `cd lower; ${DEEP}`)).toMatchObject({ exitCode: 0 });
      for (const each of [name, upper]) {
        await engine.removeVolume(each);
        await expect(new Docker().getVolume(each).inspect()).rejects.toMatchObject({ statusCode: 404 });
      }
    },
  );

  it('is detected by a measurement', async () => {
    const spec = await workspace({ diskBytes: 1024 ** 3 });
    const dig = "import os\nfor i in range(1001): os.mkdir('d'); os.chdir('d')";
    await run(spec, `python3 -c "${dig}"`);
    const usage = await measureVolume((each) => engine.start(each), spec, { volume: volumeOf(spec) });
    expect(usage).toMatchObject({ complete: true, tooDeep: true, entries: 1002 });
  });
});

describe.concurrent('hazard 17: the free space of the engine’s disk', () => {
  it('prevents the start of sandboxes if it is too low', async () => {
    const spec = await workspace({ freeDiskBytes: 2 ** 60 });
    await expect(engine.start(spec)).rejects.toMatchObject({
      code: 'DISK_FAILED',
      message: expect.stringMatching(/^Only \d+\.\d GiB is free on the disk of the container engine\.$/) as string,
    });
  });

  it('kills the sandbox with the largest workspace first', async () => {
    const { rootDir } = await engine.info();
    const { bavail, bsize } = await statfs(rootDir);
    // What others write and remove meanwhile changes less.
    const freeDiskBytes = bavail * bsize - 1024 * MIB;
    const [small, big] = [
      await workspace({ diskBytes: 2 ** 40, freeDiskBytes: 0 }),
      await workspace({ diskBytes: 2 ** 40, freeDiskBytes }),
    ];
    const [one, other] = await Promise.all([
      run(small, 'dd if=/dev/zero of=a bs=1M count=20 2>/dev/null; sleep 5'),
      run(big, 'for n in 1 2 3 4; do fallocate -l 512M $n; done; sleep 40'),
    ]);
    expect([one.ended, other.ended]).toEqual(['exited', 'disk-floor']);
  });
});

describe.concurrent('processes', () => {
  it('are reported when the limit refuses them', async () => {
    // It ends a second later, without another process: the engine reports only what it has seen before the end.
    const wait =
      'read a _ < /proc/uptime; until [ "${b%.*}" -gt "$((${a%.*} + 1))" ]; do read b _ < /proc/uptime; done';
    const exit = await run(
      await workspace(),
      `bash -c 'for i in {1..100}; do sleep 40 & done' 2>errors & until [ -s errors ]; do :; done; b=0; ${wait}; exit 2`,
    );
    expect(exit).toMatchObject({ ended: 'exited', exitCode: 2, forksRefused: true });
    expect(await run(await workspace(), 'sleep 1')).toMatchObject({ forksRefused: false });
  });
});
