import { EventEmitter, once } from 'node:events';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, expect } from 'vitest';
import { discardSink } from '../../../src/lib/streams.ts';
import { openDockerClient } from '../../../src/sandbox/docker/docker-client.ts';
import { makeOutputPipe } from '../../../src/sandbox/output-pipe.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { runIn, SPEC, test, workspaceOf } from './engine-fixture.ts';

const MIB = 1024 ** 2;
const IGNORE_SIGNALS = `trap '' TERM INT HUP; while :; do sleep 60; done`;
const FILL_DISK = 'n=0; while [ $((n += 1)) -le 15 ]; do fallocate -l 100M $n; sleep 0.2; done; sleep 60';

export function describeCommands(): void {
  describe.concurrent('a command', () => {
    test('is stopped at its memory limit, with that reason', async ({ run }) => {
      const { exit } = await run(`exec python3 -c 'x = b"x" * (400 << 20)'`);
      expect(exit).toMatchObject({ ended: 'exited', exitCode: 137 });
      expect(exit.outOfMemory).not.toBe('no');
    });

    test('that is killed by a signal ends with 128 and its number', async ({ run }) => {
      const [terminated, killed] = await Promise.all([run('kill -TERM $$; sleep 60'), run('kill -KILL $$; sleep 60')]);
      expect(terminated.exit).toMatchObject({ ended: 'exited', exitCode: 143, outOfMemory: 'no' });
      expect(killed.exit).toMatchObject({ ended: 'exited', exitCode: 137, outOfMemory: 'maybe' });
    });

    test('is killed when it is silent for too long', async ({ start }) => {
      const { exit, stdout } = await runIn(await start(), 'echo start; sleep 60', { idleMs: 500 });
      expect(stdout).toBe('start\n');
      expect(exit).toMatchObject({ ended: 'idle', exitCode: undefined });
    });

    test('is killed when it runs too long, although it prints', async ({ start }) => {
      const { exit } = await runIn(await start(), 'while :; do echo .; sleep 0.1; done', { wallMs: 800 });
      expect(exit).toMatchObject({ ended: 'wall', exitCode: undefined });
    });

    test('is killed when it prints too much', async ({ start }) => {
      const { exit } = await runIn(await start(), 'yes', { outputBytes: 100_000 });
      expect(exit).toMatchObject({ ended: 'output', exitCode: undefined });
    });

    test('is killed when it is aborted, also when it ignores signals (hazard 20)', async ({ start }) => {
      const abort = new AbortController();
      const stdout = new Writable({ write: (_chunk, _encoding, done) => (abort.abort(), done()) });
      const { exit } = await runIn(await start(), `echo ready; ${IGNORE_SIGNALS}`, { stdout, signal: abort.signal });
      expect(exit).toMatchObject({ ended: 'aborted', exitCode: undefined });
    });

    test('is aborted when its sandbox is removed, which is possible at any time and twice', async ({ start }) => {
      const [busy, idle] = await Promise.all([start(), start()]);
      const stdout = new Writable({ write: (_chunk, _encoding, done) => (void busy.remove(), done()) });
      const { exit } = await runIn(busy, `echo ready; ${IGNORE_SIGNALS}`, { stdout });
      expect(exit).toMatchObject({ ended: 'aborted', exitCode: undefined });
      for (const sandbox of [busy, busy, idle, idle]) await sandbox.remove();
    });

    test('does not succeed when another process removes its container', async ({ engine, start }) => {
      const sandbox = await start();
      const remove = () => engine.removeResource({ kind: 'container', name: sandbox.id });
      const stdout = new Writable({ write: (_chunk, _encoding, done) => (void remove(), done()) });
      const end = await runIn(sandbox, `echo ready; ${IGNORE_SIGNALS}`, { stdout }).then(
        ({ exit }) => exit.exitCode,
        ({ message }: Error) => message,
      );
      expect([
        137,
        'Docker does not report how a container ended.',
        'Docker, or a user of it, stopped a container.',
      ]).toContain(end);
    });

    test.for(['SIGTERM', 'SIGKILL'])(
      'that the engine stops with %s, as when it shuts down, is a fault of the engine (hazard 11)',
      async (signal, { start }) => {
        const sandbox = await start();
        const stop = () => openDockerClient().getContainer(sandbox.id).kill({ signal });
        const stdout = new Writable({ write: (_chunk, _encoding, done) => (void stop(), done()) });
        await expect(runIn(sandbox, 'echo ready; sleep 60', { stdout })).rejects.toMatchObject({
          code: 'DOCKER_FAILED',
          message: 'Docker, or a user of it, stopped a container.',
        });
      },
    );

    test('is killed when it fills its workspace', async ({ run, volume }) => {
      const limits = { ...SPEC.limits, diskBytes: 48 * MIB };
      const { exit } = await run('head -c 100M /dev/zero > big; sleep 60', { ...workspaceOf(await volume()), limits });
      expect(exit).toMatchObject({ ended: 'disk', exitCode: undefined });
    });

    test('is killed when it fills the disk of the engine, and does not start on a full one', async ({
      engine,
      run,
      volume,
    }) => {
      const { bavail, bsize } = await statfs((await engine.info()).rootDir);
      const limits = { ...SPEC.limits, diskBytes: 2 ** 40, freeDiskBytes: bavail * bsize - 400 * MIB };
      const { exit } = await run(FILL_DISK, { ...workspaceOf(await volume()), limits });
      expect(exit).toMatchObject({ ended: 'disk-floor', exitCode: undefined });
      const full = run('true', { limits: { ...limits, freeDiskBytes: 2 ** 60 } });
      await expect(full).rejects.toMatchObject({ code: 'DISK_FAILED' });
    });

    test('waits for a slow reader instead of buffering its output in memory', async ({ start }) => {
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
      const sinks = { stdout: slow, stderr: discardSink() };
      const { exit } = await runIn(await start(), 'head -c 5000000 /dev/zero', sinks);
      expect(exit.exitCode).toBe(0);
      expect(received).toBe(5_000_000);
      expect(most).toBeLessThan(300_000);
    });

    test('cannot continue while its output is not read', async ({ run, start, volume }) => {
      const workspace = workspaceOf(await volume());
      const events = new EventEmitter();
      const [isPrinting, isRead] = [once(events, 'printing'), once(events, 'read')];
      const stdout = new Writable({
        highWaterMark: 1,
        write(_chunk, _encoding, done) {
          events.emit('printing');
          void isRead.then(() => done());
        },
      });
      const ended = runIn(await start(workspace), 'head -c 8000000 /dev/zero; touch printed; ls >&2', { stdout });
      await isPrinting;
      expect(await run('sleep 0.3; ls', workspace)).toMatchObject({ stdout: '' });
      events.emit('read');
      expect(await ended).toMatchObject({ exit: { ended: 'exited', exitCode: 0 }, stderr: 'printed\n' });
    });

    test('can write to a named pipe of the host instead', async ({ start }) => {
      const path = join(tempDir('halo-pipe'), 'output');
      await makeOutputPipe(path);
      const [source, target] = [path, '/halo/output'];
      const sandbox = await start({ mounts: [{ kind: 'bind', source, target, readOnly: true }] });
      await sandbox.prepare('echo noise');
      const pipe = { outputPipe: { path, inside: target }, stdin: 'prompt\n' };
      const { exit, stdout, stderr } = await runIn(
        sandbox,
        'cat; seq 1 300000 | tail -n 1; echo oops >&2; exit 7',
        pipe,
      );
      expect({ stdout, stderr }).toEqual({ stdout: 'prompt\n300000\n', stderr: 'oops\n' });
      expect(exit).toMatchObject({ ended: 'exited', exitCode: 7 });
    });

    test('connects to halo through a port of its sandbox, also after it has ended the bridge', async ({ start }) => {
      const sandbox = await start();
      const losses: string[] = [];
      const port = await sandbox.listen({
        port: 4_000,
        accept: (connection) => void connection.pipe(connection),
        onLoss: (_why, then) => losses.push(then),
      });
      await expect(sandbox.listen({ port: 4_000, accept: () => {}, onLoss: () => {} })).rejects.toMatchObject({
        code: 'DOCKER_FAILED',
        message: expect.stringContaining('Address already in use') as string,
      });
      const ask = 'exec 3<>/dev/tcp/127.0.0.1/4000 && echo hello >&3 && read -r answer <&3 && echo "$answer"';
      const script = `ask() { bash -c '${ask}' 2>/dev/null; }; ask; pkill -x bridge; until ask; do sleep 0.1; done`;
      const { stdout } = await runIn(sandbox, script);
      expect(stdout).toBe('hello\nhello\n');
      expect(new Set(losses)).toEqual(new Set(['again']));
      port.close();
      port.close();
    });
  });
}
