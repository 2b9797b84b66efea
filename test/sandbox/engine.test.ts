import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { tailSink, discardSink } from '../../src/lib/streams.ts';
import { openDockerEngine } from '../../src/sandbox/docker/engine.ts';
import type { Command, Sandbox, SandboxSpec } from '../../src/sandbox/sandbox.ts';
import { smallSandbox } from '../support/docker/sandbox-spec.ts';
import { tempDir } from '../support/temp-dir.ts';

const engine = openDockerEngine();
const spec: SandboxSpec = { ...smallSandbox('engine', 34_567), env: { GREETING: 'hello' } };
const { labels } = spec;
const LIMITS = { wallMs: 30_000, idleMs: 30_000, outputBytes: 10_000_000 };

const open: Sandbox[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((sandbox) => sandbox.remove()));
});

async function start(changes: Partial<SandboxSpec> = {}): Promise<Sandbox> {
  const sandbox = await engine.start({ ...spec, ...changes });
  open.push(sandbox);
  return sandbox;
}

async function run(sandbox: Sandbox, script: string, changes: Partial<Command> = {}) {
  const [stdout, stderr] = [tailSink(10_000), tailSink(10_000)];
  const exit = await sandbox.run({ script, stdout: stdout.sink, stderr: stderr.sink, ...LIMITS, ...changes });
  return { exit, stdout: stdout.text(), stderr: stderr.text() };
}

describe('a sandbox', () => {
  it('runs one command with its stdin, its environment and its own exit code', async () => {
    const { exit, stdout, stderr } = await run(await start(), 'cat; echo "$GREETING"; echo oops >&2; exit 7', {
      stdin: 'prompt\n',
    });
    expect(stdout).toBe('prompt\nhello\n');
    expect(stderr).toBe('oops\n');
    expect(exit).toMatchObject({ ended: 'exited', exitCode: 7, outOfMemory: 'no' });
  });

  it('keeps the files that it prepared before its command, but none of the output', async () => {
    const sandbox = await start();
    await sandbox.prepare('echo noise >&2; echo ready > /tmp/prepared');
    const { stdout } = await run(sandbox, 'cat /tmp/prepared -', { stdin: 'and stdin' });
    expect(stdout).toBe('ready\nand stdin');
  });

  it('reports why it could not be prepared', async () => {
    const sandbox = await start();
    await expect(sandbox.prepare('cat /no/such/file')).rejects.toThrow(/could not be prepared.*No such file/);
  });

  it('has no capability, no network, no writable root and no way to gain privileges', async () => {
    const { stdout } = await run(
      await start(),
      `grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t'; id -u; ls /sys/class/net; touch /x 2>&1; true`,
    );
    expect(stdout.split('\n')).toEqual([
      'CapEff:0000000000000000',
      'CapBnd:0000000000000000',
      'NoNewPrivs:1',
      'Seccomp:2',
      '34567',
      'lo',
      "touch: cannot touch '/x': Read-only file system",
      '',
    ]);
  });

  it('is stopped at its memory limit, with that reason', async () => {
    const { exit } = await run(await start(), `node -e "const a=[]; for(;;) a.push(Buffer.alloc(8e6,1))"`);
    expect(exit.outOfMemory).not.toBe('no');
    expect(exit.exitCode).not.toBe(0);
  });

  it('is killed when it is silent for too long', async () => {
    const { exit } = await run(await start(), 'echo start; sleep 60', { idleMs: 500 });
    expect(exit).toMatchObject({ ended: 'idle', exitCode: undefined });
  });

  it('is killed when it runs too long, although it prints', async () => {
    const { exit } = await run(await start(), 'while :; do echo .; sleep 0.1; done', { wallMs: 800 });
    expect(exit.ended).toBe('wall');
  });

  it('is killed when it prints too much', async () => {
    const { exit } = await run(await start(), 'yes', { outputBytes: 100_000 });
    expect(exit.ended).toBe('output');
  });

  it('is killed when its command is aborted, also when it ignores signals (hazard 20)', async () => {
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 300);
    const { exit } = await run(await start(), `trap '' TERM INT; sleep 60`, { signal: abort.signal });
    expect(exit.ended).toBe('aborted');
  });

  it('ends with its main process and all remaining processes (hazard 20)', async () => {
    const { exit, stdout } = await run(await start(), 'sleep 300 & setsid sleep 300 & echo done');
    expect(stdout).toBe('done\n');
    expect(exit).toMatchObject({ ended: 'exited', exitCode: 0 });
  });

  it('waits for a slow reader instead of buffering its output in memory', async () => {
    let received = 0;
    let most = 0;
    const slow = new Writable({
      highWaterMark: 1024,
      write(chunk: Buffer, _encoding, done) {
        received += chunk.length;
        most = Math.max(most, this.writableLength);
        setImmediate(done);
      },
    });
    const { exit } = await run(await start(), 'head -c 5000000 /dev/zero', { stdout: slow, stderr: discardSink() });
    expect(exit.exitCode).toBe(0);
    expect(received).toBe(5_000_000);
    expect(most).toBeLessThan(300_000);
  });

  it('shares a volume with a sandbox that can only read it', async () => {
    const name = `halo-test-${randomBytes(4).toString('hex')}`;
    await engine.createVolume(name, labels, { user: spec.user });
    try {
      const volume = { kind: 'volume', source: name, target: '/workspace' } as const;
      const writer = await start({ mounts: [{ ...volume, readOnly: false, copyUp: true }] });
      await run(writer, 'echo work > /workspace/file');
      const reader = await start({ mounts: [{ ...volume, readOnly: true, copyUp: false }] });
      const { stdout } = await run(reader, 'cat /workspace/file; touch /workspace/x 2>/dev/null || echo refused');
      expect(stdout).toBe('work\nrefused\n');
    } finally {
      await Promise.all(open.splice(0).map((sandbox) => sandbox.remove()));
      await engine.removeVolume(name);
    }
  });

  it('can be removed at any time and twice', async () => {
    const sandbox = await start();
    await sandbox.remove();
    await sandbox.remove();
  });
});

describe('the engine', () => {
  it('refuses a missing image, with the command that builds it', async () => {
    await expect(engine.start({ ...spec, image: 'no-such-image:1' })).rejects.toMatchObject({ code: 'IMAGE_MISSING' });
  });

  it('detects that containers see the folders of this machine', async () => {
    const dir = tempDir('halo-mount');
    expect(await engine.canMount(dir)).toBe(true);
  });
});
