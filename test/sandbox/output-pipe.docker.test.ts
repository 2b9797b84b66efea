import { readdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Readable, Writable } from 'node:stream';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { discardSink, tailSink } from '../../src/lib/streams.ts';
import { openDockerEngine } from '../../src/sandbox/docker/engine.ts';
import { makeOutputPipe, openPipeReader } from '../../src/sandbox/output-pipe.ts';
import type { Command, Sandbox } from '../../src/sandbox/sandbox.ts';
import { smallSandbox } from '../support/docker/sandbox-spec.ts';
import { tempDir } from '../support/temp-dir.ts';

const engine = openDockerEngine();
const INSIDE = '/halo/output';
const LIMITS = { wallMs: 60_000, idleMs: 60_000, outputBytes: 100_000_000 };

const started: Sandbox[] = [];
afterAll(async () => {
  await Promise.all(started.map((sandbox) => sandbox.remove()));
});

/** A sandbox whose output goes through a pipe. */
async function start() {
  const path = join(tempDir('halo-pipe'), 'output');
  await makeOutputPipe(path);
  const mounts = [{ kind: 'bind', source: path, target: INSIDE, readOnly: true } as const];
  const sandbox = await engine.start({ ...smallSandbox('pipe', 34_568), mounts });
  started.push(sandbox);
  const run = async (script: string, changes: Partial<Command> = {}) => {
    const [stdout, stderr] = [tailSink(10_000), tailSink(10_000)];
    const outputPipe = { path, inside: INSIDE };
    const sinks = { stdout: stdout.sink, stderr: stderr.sink };
    const exit = await sandbox.run({ script, outputPipe, ...sinks, ...LIMITS, ...changes });
    return { exit, stdout: stdout.text(), stderr: stderr.text() };
  };
  return { sandbox, run };
}

describe('a reader of a pipe', () => {
  it('leaves no file open if its pipe cannot be opened', () => {
    const dir = tempDir('halo-pipe');
    const openFiles = () => readdirSync('/proc/self/fd').length;
    const before = openFiles();
    // A folder can be opened for reading only.
    for (let nth = 0; nth < 20; nth++) expect(() => openPipeReader(dir)).toThrow(/cannot be opened/);
    expect(openFiles()).toBeLessThan(before + 20);
  });
});

describe('a reader of an open pipe', () => {
  const openPipe = async () => {
    const path = join(tempDir('halo-pipe'), 'output');
    await makeOutputPipe(path);
    const reader = openPipeReader(path);
    const writer = await open(path, 'w');
    const readAll = async (pause?: () => Promise<unknown>) => {
      let text = '';
      for await (const chunk of reader.chunks) {
        text += chunk.toString();
        await pause?.();
      }
      return text;
    };
    return { reader, writer, readAll };
  };

  it('delivers many small parts in order to a slow consumer, also those from before its first read', async () => {
    const { reader, writer, readAll } = await openPipe();
    const parts = Array.from({ length: 300 }, (_, at) => `part ${at} ${'x'.repeat(at)}\n`);
    for (const part of parts.slice(0, 20)) await writer.write(part);
    const reading = readAll(() => sleep(1));
    for (const part of parts.slice(20)) await writer.write(part);
    await writer.close();
    reader.release();
    expect(await reading).toBe(parts.join(''));
  });

  it('ends without output', async () => {
    const { reader, writer, readAll } = await openPipe();
    await writer.close();
    reader.release();
    expect(await readAll()).toBe('');
  });

  it.each([
    ['before the first read', async () => {}],
    ['while it waits', () => sleep(20)],
  ])('ends when it is closed %s', async (_when, wait) => {
    const { reader, writer, readAll } = await openPipe();
    const reading = readAll();
    await wait();
    reader.destroy();
    expect(await reading).toBe('');
    await writer.close();
  });
});

describe.concurrent('a sandbox whose output goes through a pipe', () => {
  it('runs a command with its stdin, both outputs and its exit code', async () => {
    const { sandbox, run } = await start();
    await sandbox.prepare('echo noise');
    const { exit, stdout, stderr } = await run('cat; echo oops >&2; exit 7', { stdin: 'prompt\n' });
    expect({ stdout, stderr }).toEqual({ stdout: 'prompt\n', stderr: 'oops\n' });
    expect(exit).toMatchObject({ ended: 'exited', exitCode: 7 });
  });

  it('delivers all of a large output to a slow reader', async () => {
    const { run } = await start();
    const received: Buffer[] = [];
    const slow = new Writable({
      highWaterMark: 1024,
      write(chunk: Buffer, _encoding, done) {
        received.push(chunk);
        if (received.length < 50) void sleep(5).then(() => done());
        else done();
      },
    });
    const { exit } = await run('seq 1 600000', { stdout: slow });
    expect(exit.exitCode).toBe(0);
    const expected = Array.from({ length: 600_000 }, (_, at) => `${at + 1}\n`).join('');
    expect(Buffer.concat(received).equals(Buffer.from(expected))).toBe(true);
  });

  it('loses nothing if its reader takes longer than the container', async () => {
    const { run } = await start();
    let size = 0;
    const stdout = new Writable({
      highWaterMark: 1,
      write(chunk: Buffer, _encoding, done) {
        const isFirst = size === 0;
        size += chunk.length;
        if (isFirst) void sleep(6_000).then(() => done());
        else done();
      },
    });
    const { exit } = await run('head -c 1300000 /dev/zero', { stdout });
    expect(exit).toMatchObject({ ended: 'exited', exitCode: 0 });
    expect(size).toBe(1_300_000);
  });

  it('can continue while the reader is busy, for as long as its output fits into 1 MiB', async () => {
    const { run } = await start();
    let size = 0;
    let isWritten = false;
    const stdout = new Writable({
      highWaterMark: 1,
      write(chunk: Buffer, _encoding, done) {
        size += chunk.length;
        void vi.waitUntil(() => isWritten, { timeout: 30_000 }).then(() => done(), done);
      },
    });
    const stderr = new Writable({
      write(_chunk, _encoding, done) {
        isWritten = true;
        done();
      },
    });
    const { exit } = await run('head -c 1300000 /dev/zero; echo written >&2', { stdout, stderr });
    expect(exit).toMatchObject({ ended: 'exited', exitCode: 0 });
    expect(size).toBe(1_300_000);
  });

  it('ends with the error of its stdin', async () => {
    const { run } = await start();
    const stdin = Readable.from(
      (async function* () {
        yield 'begin\n';
        await sleep(200);
        throw new Error('git died');
      })(),
    );
    await expect(run('cat; sleep 2', { stdin })).rejects.toThrow('git died');
  });

  it('lets programs open /dev/stdout', async () => {
    const { run } = await start();
    const { stdout } = await run('echo one > /dev/stdout; echo two | tee /dev/fd/3 3>&1 > /dev/null; echo three');
    expect(stdout).toBe('one\ntwo\nthree\n');
  });

  it('ends without output, and with processes that still hold the pipe', async () => {
    expect(await (await start()).run('exit 3')).toMatchObject({ exit: { ended: 'exited', exitCode: 3 }, stdout: '' });
    const { exit, stdout } = await (await start()).run('setsid sleep 300 & echo done');
    expect({ exit, stdout }).toMatchObject({ exit: { ended: 'exited', exitCode: 0 }, stdout: 'done\n' });
    expect(exit.ms).toBeLessThan(30_000);
  });

  it.each([
    ['prints too much', 'yes', { outputBytes: 100_000 }, 'output'],
    ['is silent for too long', 'echo start; sleep 60', { idleMs: 500 }, 'idle'],
    ['runs too long', 'while :; do echo .; sleep 0.1; done', { wallMs: 800 }, 'wall'],
  ] as const)('is killed when it %s', async (_what, script, limits, ended) => {
    const { run } = await start();
    expect((await run(script, limits)).exit).toMatchObject({ ended, exitCode: undefined });
  });

  it('is killed when its output cannot be written', async () => {
    const { run } = await start();
    const full = new Writable({ write: (_chunk, _encoding, done) => done(new Error('the disk is full')) });
    await expect(run('yes', { stdout: full, stderr: discardSink() })).rejects.toThrow('the disk is full');
  });
});
