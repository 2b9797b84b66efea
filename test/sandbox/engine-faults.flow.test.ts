import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { tailSink } from '../../src/lib/streams.ts';
import { LOCAL_ENGINE } from '../../src/core/engine/engine-address.ts';
import { openDockerEngine } from '../../src/sandbox/docker/engine.ts';
import type { Sandbox, SandboxEngine } from '../../src/sandbox/sandbox.ts';
import { belowLevel, casesAtLevel, FULL } from '../support/suite/level.ts';
import { openEngineProxy, type EngineProxy, type Misdeed } from '../support/docker/engine-proxy.ts';
import { smallSandbox } from '../support/docker/sandbox-spec.ts';
import { skipFor } from '../support/skip.ts';
import { tempDir } from '../support/temp-dir.ts';
import { PATIENCE } from '../support/patience.ts';

/** Behind the proxy, which makes the faults: any engine does. */
const ENGINE = (process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock').replace('unix://', '');
const spec = smallSandbox('faults', 34_568);
const LIMITS = { wallMs: 30_000, idleMs: 30_000, outputBytes: 10_000_000 };

let proxy: EngineProxy;
let engine: SandboxEngine;
const open: Sandbox[] = [];

beforeEach(async () => {
  proxy = await openEngineProxy(ENGINE);
  engine = connect();
});
afterEach(async () => {
  proxy.misbehave(() => undefined);
  await Promise.all(open.splice(0).map((sandbox) => sandbox.remove()));
  await proxy.close();
});

/** What the engine made without saying so is swept by a worker, and here there is none. */
afterAll(async () => {
  const docker = new Docker();
  const left = await docker.listContainers({
    all: true,
    filters: { label: [`dev.halo.story=${spec.labels.storyKey}`] },
  });
  await Promise.all(left.map(({ Id }) => docker.getContainer(Id).remove({ force: true })));
});

/** Every call of this engine ends after `timeout` ms. */
const connect = (timeout = 20_000) =>
  openDockerEngine({ name: LOCAL_ENGINE, address: `unix://${proxy.socket}` }, { deadlineMs: timeout });

/** From now on, for calls with this in their path. */
const spoil = (path: string, misdeed: Misdeed) =>
  proxy.misbehave((call) => (call.includes(path) ? misdeed : undefined));

async function run(script: string) {
  const sandbox = await engine.start(spec);
  open.push(sandbox);
  return follow(sandbox, script);
}

async function follow(sandbox: Sandbox, script: string) {
  const [stdout, stderr] = [tailSink(10_000), tailSink(10_000)];
  const exit = await sandbox.run({ script, stdout: stdout.sink, stderr: stderr.sink, ...LIMITS });
  return { exit, stdout: stdout.text() };
}

/** Of this test process. */
const openFiles = () => readdirSync('/proc/self/fd').length;

it('a proxy before the engine is transparent without faults', async () => {
  const { exit, stdout } = await run('echo hello; exit 3');
  expect([exit.exitCode, stdout]).toEqual([3, 'hello\n']);
});

describe('hazard 12: an engine', () => {
  const CALLS = ['/images/', '/containers/create', '/attach', '/start', '/wait', '/events', '/json'];

  it('is awaited while it is slow', async () => {
    proxy.misbehave(() => ({ delayMs: 100 }));
    const { exit, stdout } = await run('echo hello');
    expect([exit.exitCode, stdout]).toEqual([0, 'hello\n']);
  });

  it.each(CALLS.flatMap((call) => casesAtLevel([500], [503]).map((status) => [call, status] as const)))(
    'an engine that answers %s with %i causes an error of the engine, not of the command',
    async (call, status) => {
      spoil(call, { status });
      await expect(run('sleep 1; exit 1')).rejects.toMatchObject({ code: 'DOCKER_FAILED' });
    },
  );

  it.each([
    ['/images/', 'reset'],
    ['/images/', 'end'],
    ['/containers/create', 'reset'],
    ['/containers/create', 'end'],
    ['/attach', 'reset'],
    ['/wait', 'reset'],
    ['/wait', 'end'],
    ['/json', 'reset'],
  ] as const)(
    'an engine that aborts its response to %s (%s) is an error of the engine',
    skipFor(belowLevel(FULL)),
    async (call, by) => {
      engine = connect(2_000);
      spoil(call, { cutAfter: 1, by });
      await expect(run('echo hello; sleep 1; exit 1')).rejects.toMatchObject({ code: 'DOCKER_FAILED' });
    },
  );

  it.each(['/images/', '/containers/create', '/attach', '/start', '/json'])(
    'fails after a deadline if it never answers %s',
    skipFor(belowLevel(FULL)),
    async (call) => {
      engine = connect(2_000);
      spoil(call, 'swallow');
      await expect(run('sleep 1')).rejects.toThrow('it did not answer within 2 s');
    },
  );

  it('leaves no connection open after repeated timeouts', skipFor(belowLevel(FULL)), async () => {
    await run('true');
    const before = openFiles();
    engine = connect(2_000);
    for (const misdeed of [{ status: 500 }, { cutAfter: 1, by: 'reset' }, 'swallow'] as const) {
      spoil('/attach', misdeed);
      await Promise.all(Array.from({ length: 5 }, () => expect(run('echo hello')).rejects.toThrow('Docker could not')));
    }
    proxy.misbehave(() => undefined);
    await Promise.all(open.splice(0).map((sandbox) => sandbox.remove()));
    await vi.waitFor(() => expect(openFiles()).toBeLessThanOrEqual(before), PATIENCE);
  });
});

/** What Docker 20.10 answers while the disk of its data is full. */
const FULL_DISK = [
  [
    '/containers/create',
    'create a container',
    'write /var/lib/docker/overlay2/6c5c2a2fe74f-init/link: no space left on device',
  ],
  [
    '/containers/create',
    'create a container',
    'write /var/lib/docker/image/overlay2/layerdb/mounts/fe110385cec4/mount-id: no space left on device',
  ],
  [
    '/start',
    'start a container',
    'failed to update store for object type *libnetwork.endpoint: write /var/lib/docker/network/files/local-kv.db: no space left on device',
  ],
] as const;

describe('hazard 62: the disk of the engine is full', () => {
  const REFUSED = { code: 'DISK_FAILED', stopReason: 'INFRASTRUCTURE' };
  const HINT = expect.stringContaining('Free some space on the machine of the container engine') as string;

  it.each(FULL_DISK)('%s reports that it could not %s: %s', async (call, what, message) => {
    spoil(call, { status: 500, message });
    const says = `The disk is full, so Docker could not ${what}: ${message}.`;
    await expect(run('true')).rejects.toMatchObject({ ...REFUSED, message: says, hint: HINT });
  });

  it('a volume that cannot be created is reported in the same way', async () => {
    const message = 'mkdir /var/lib/docker/volumes/halo-1: no space left on device';
    spoil('/volumes/create', { status: 500, message });
    const says = `The disk is full, so Docker could not create a volume: ${message}.`;
    const created = engine.createVolume('halo-test-full', spec.labels, { user: spec.user });
    await expect(created).rejects.toMatchObject({ ...REFUSED, message: says, hint: HINT });
  });

  it('a checkout that cannot be written is reported in the same way', async () => {
    const sandbox = await engine.start(spec);
    open.push(sandbox);
    const prepared = sandbox.prepare('echo "tar: src/a.ts: Cannot write: No space left on device" >&2; exit 2');
    const says = expect.stringMatching(/^The disk is full, so Docker could not prepare a sandbox: tar: /) as string;
    await expect(prepared).rejects.toMatchObject({ ...REFUSED, message: says, hint: HINT });
  });
});

describe('hazard 36: an unexpected exit code:', () => {
  it.each([125, 126, 127, 143])('%i is the exit code, and nothing else', async (code) => {
    const { exit } = await run(`exit ${code}`);
    expect(exit).toMatchObject({ ended: 'exited', exitCode: code, outOfMemory: 'no' });
  });

  it('137 may be caused by a lack of memory', async () => {
    const { exit } = await run('exit 137');
    expect(exit).toMatchObject({ exitCode: 137, outOfMemory: 'maybe' });
  });

  it.each([null, undefined, 'unknown'])('an exit code that is %s is an error of the engine', async (ExitCode) => {
    const sandbox = await engine.start(spec);
    open.push(sandbox);
    const rewrite = (body: string) => {
      const facts = JSON.parse(body) as { State: object };
      return JSON.stringify({ ...facts, State: { ...facts.State, ExitCode } });
    };
    spoil(`${sandbox.id}/json`, { rewrite });
    await expect(follow(sandbox, 'true')).rejects.toThrow('Docker does not report how a container ended');
  });

  it('a container that is gone before it was inspected is an error of the engine', async () => {
    const sandbox = await engine.start(spec);
    open.push(sandbox);
    spoil(`${sandbox.id}/json`, { status: 404 });
    await expect(follow(sandbox, 'true')).rejects.toThrow('Docker does not report how a container ended');
  });

  // A frame is a head of eight bytes and `hello` with its line end.
  it.each([
    ['in the head of a frame', 3, 'end'],
    ['inside a frame', 10, 'end'],
    ['inside a frame, with a reset', 10, 'reset'],
  ] as const)('output that is aborted %s is an error of the engine', async (_where, cutAfter, by) => {
    spoil('/attach', { cutAfter, by });
    await expect(run('echo hello; sleep 30')).rejects.toMatchObject({ code: 'DOCKER_FAILED' });
  });

  it('a connection that is lost before the command started is an error of the engine', async () => {
    // The frame in which the container reports that it is prepared has 20 bytes.
    spoil('/attach', { cutAfter: 20, by: 'end' });
    const sandbox = await engine.start(spec);
    open.push(sandbox);
    await sandbox.prepare('true');
    await expect(follow(sandbox, 'echo hello')).rejects.toMatchObject({ code: 'DOCKER_FAILED' });
  });

  it('output that ends before the container is an error of the engine', skipFor(belowLevel(FULL)), async () => {
    // A frame of 9 bytes reports that the command begins; the next one, of 14, has its output.
    spoil('/attach', { cutAfter: 9 + 14, by: 'end' });
    await expect(run('sleep 0.2; echo hello; sleep 30')).rejects.toThrow('Docker lost the output of a container');
  });
});

describe('hazard 12: the features of an engine are queried again after an interrupted response', () => {
  let dir: string;
  beforeEach(() => {
    dir = tempDir('halo-probes');
  });

  it.each([
    ['mounts', () => engine.canMount(dir)],
    ['sockets', async () => (await engine.canReach(join(dir, 'sockets'), undefined)).socket],
  ])('%s: a missing response is not an answer, and a refusal is one', async (_what, ask) => {
    engine = connect(500);
    spoil('/start', 'swallow');
    await expect(ask()).rejects.toMatchObject({ code: 'DOCKER_FAILED' });
    engine = connect();
    spoil('/start', { status: 503 });
    await expect(ask()).rejects.toMatchObject({ code: 'DOCKER_FAILED' });
    spoil('/start', { status: 400 });
    expect(await ask()).toBe(false);
    proxy.misbehave(() => undefined);
    expect(await ask()).toBe(true);
  });
});
