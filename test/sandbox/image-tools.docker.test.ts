import { spawn, type ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { takeTools } from '../support/docker/image-tools.ts';
import { freePort } from '../support/network/free-port.ts';

let dir: string;

// The two programs are static, so what the image has can be tried here, with real pipes and signals.
beforeAll(async () => {
  dir = await takeTools();
}, 600_000);

afterAll(() => rm(dir, { recursive: true, force: true }));

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

async function ended(child: ChildProcess): Promise<Ended> {
  const code = new Promise<number | null>((resolve) => child.once('close', (value) => resolve(value)));
  const [out, err] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
  return { code: await code, out, err };
}

describe('wait', () => {
  const run = (input: string | Buffer): Promise<Ended> => {
    const child = spawn(join(dir, 'bin/wait'));
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    return ended(child);
  };
  const framed = (script: string): string => `${Buffer.byteLength(script)}\n${script}`;

  test('runs the script and passes the rest of stdin to it, to the byte', async () => {
    const rest = randomBytes(300_000);
    const { code, out } = await run(Buffer.concat([Buffer.from(framed('echo "ü"; sha256sum')), rest]));
    expect(code).toBe(0);
    expect(out).toBe(`ü\n${createHash('sha256').update(rest).digest('hex')}  -\n`);
  });

  test('exits with the code of the script', async () => {
    expect(await run(framed('exit 42'))).toMatchObject({ code: 42, err: '' });
  });

  test('accepts a script that arrives in pieces', async () => {
    const child = spawn(join(dir, 'bin/wait'));
    const end = ended(child);
    for (const piece of ['1', '1\nech', 'o ', 'piec', 'es', 'rest']) {
      child.stdin.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    child.stdin.end();
    expect(await end).toMatchObject({ code: 0, out: 'pieces\n' });
  });

  test.each([
    ['nothing', ''],
    ['half a length', '12'],
    ['half a script', '20\necho no'],
  ])('exits with 125 without output when stdin ends after %s', async (_name, input) =>
    expect(await run(input)).toEqual({ code: 125, out: '', err: '' }),
  );

  test.each([
    ['no number', 'echo 1\n'],
    ['an empty length', '\n'],
    ['a huge length', '99999999999\n'],
    ['a NUL byte', '3\na\0b'],
  ])('exits with 125 and a reason when it receives %s', async (_name, input) => {
    const { code, err } = await run(input);
    expect(code).toBe(125);
    expect(err).toMatch(/^wait: /);
  });
});

describe('forward', () => {
  let servers = 0;

  async function listen(onConnection: (socket: Socket) => void): Promise<{ path: string; server: Server }> {
    const path = join(dir, `s${servers++}.sock`);
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => undefined);
      onConnection(socket);
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    return { path, server };
  }

  const start = (port: number, path: string, command: string[]): ChildProcess =>
    spawn(join(dir, 'bin/forward'), [String(port), path, '--', ...command]);

  /** Keeps the port open until `use` is done. */
  async function withForward(
    onConnection: (socket: Socket) => void,
    use: (port: number) => Promise<void>,
  ): Promise<void> {
    const { path, server } = await listen(onConnection);
    const port = await freePort();
    const child = start(port, path, ['sh', '-c', 'echo ready; cat']);
    const end = ended(child);
    await new Promise((resolve) => child.stdout!.once('data', resolve));
    try {
      await use(port);
    } finally {
      child.stdin!.end();
      expect(await end).toMatchObject({ code: 0, err: '' });
      server.close();
    }
  }

  async function exchange(port: number, body: Buffer): Promise<string> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const hash = createHash('sha256');
    socket.end(body);
    for await (const chunk of socket) hash.update(chunk as Buffer);
    return hash.digest('hex');
  }

  test('transfers large bodies in both directions, and forwards the end of one direction while the other continues', async () => {
    const body = randomBytes(24 * 1024 * 1024);
    // Answers only after the end of what it was sent.
    const answerAtEnd = (socket: Socket): void => {
      const chunks: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => socket.end(Buffer.concat(chunks)));
    };
    await withForward(answerAtEnd, async (port) => {
      expect(await exchange(port, body)).toBe(createHash('sha256').update(body).digest('hex'));
    });
  });

  test('transfers many connections concurrently, and one after another', async () => {
    await withForward(
      (socket) => socket.pipe(socket),
      async (port) => {
        for (let round = 0; round < 3; round++) {
          const bodies = Array.from({ length: 200 }, () => randomBytes(20_000));
          const answers = await Promise.all(bodies.map((body) => exchange(port, body)));
          expect(answers).toEqual(bodies.map((body) => createHash('sha256').update(body).digest('hex')));
        }
      },
    );
  });

  test('delivers the answer of a server that closes without reading everything', async () => {
    await withForward(
      (socket) => socket.once('data', () => socket.end('too much', () => socket.destroy())),
      async (port) => {
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => undefined);
        const answer = new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk))));
        socket.write(Buffer.alloc(4 * 1024 * 1024));
        expect(await answer).toBe('too much');
        socket.destroy();
      },
    );
  });

  test('closes the connection to the server when the client disconnects', async () => {
    let closed = (): void => undefined;
    const gone = new Promise<void>((resolve) => (closed = resolve));
    await withForward(
      (socket) => {
        socket.on('close', closed).on('end', () => socket.destroy());
        socket.resume();
      },
      async (port) => {
        const socket = connect(port, '127.0.0.1');
        await new Promise<void>((resolve) => socket.write('hello', () => resolve()));
        socket.resetAndDestroy();
        await gone;
      },
    );
  });

  test('closes a connection when no process listens at the socket, and continues', async () => {
    const port = await freePort();
    const child = start(port, join(dir, 'missing.sock'), ['sh', '-c', 'echo ready; cat']);
    const end = ended(child);
    await new Promise((resolve) => child.stdout!.once('data', resolve));
    for (let i = 0; i < 2; i++) expect(await exchange(port, Buffer.from('x')).catch(() => 'reset')).toBeDefined();
    child.stdin!.end();
    expect((await end).code).toBe(0);
  });

  test('accepts connections before the command starts', async () => {
    const { path, server } = await listen((socket) => socket.end());
    const port = await freePort();
    const command = ['bash', '-c', `exec 3<>/dev/tcp/127.0.0.1/${port} && echo open`];
    expect(await ended(start(port, path, command))).toMatchObject({ code: 0, out: 'open\n' });
    server.close();
  });

  test.each([
    ['its exit code', 'exit 3', 3],
    ['128 + the signal that killed it', 'kill -KILL $$', 137],
  ])('exits with %s', async (_name, script, code) => {
    expect((await ended(start(await freePort(), '/x', ['sh', '-c', script]))).code).toBe(code);
  });

  test('exits with 127 if the command is missing, 126 if it cannot be run', async () => {
    const missing = await ended(start(await freePort(), '/x', ['no-such-command']));
    expect(missing.code).toBe(127);
    expect(missing.err).toContain('no-such-command');
    expect((await ended(start(await freePort(), '/x', [dir]))).code).toBe(126);
  });

  test('exits with 125 if the port is in use or the arguments are wrong', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const taken = await ended(start((server.address() as AddressInfo).port, '/x', ['true']));
    server.close();
    expect(taken).toMatchObject({ code: 125, out: '' });
    expect((await ended(spawn(join(dir, 'bin/forward'), ['1', '2']))).code).toBe(125);
  });

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('forwards %s only to the command', async (signal) => {
    const command = ['bash', '-c', `trap 'echo got; exit 9' ${signal}; echo ready; while :; do sleep 0.01; done`];
    const child = start(await freePort(), '/x', command);
    const end = ended(child);
    await new Promise((resolve) => child.stdout!.once('data', resolve));
    child.kill(signal);
    expect(await end).toMatchObject({ code: 9, out: 'ready\ngot\n' });
  });

  test('leaves no process behind and keeps no stream open', async () => {
    const port = await freePort();
    const child = start(port, '/x', ['sh', '-c', 'exec cat']);
    const end = ended(child);
    child.stdin!.end('to the end');
    expect(await end).toEqual({ code: 0, out: 'to the end', err: '' });
    await expect(exchange(port, Buffer.from('x'))).rejects.toThrow('ECONNREFUSED');
  });

  test('serves a command only when its port accepts, whatever a check in its container finds before', async () => {
    const [port, order, socket] = [await freePort(), join(dir, 'order'), join(dir, 'served.sock')];
    const server = `
      const [net, fs] = [require('net'), require('fs')];
      fs.appendFileSync('${order}', 'listens ');
      // The first client only tries the port, and may reset its connection.
      net.createServer((client) => client.on('error', () => {}).end('answer')).listen(${port}, '127.0.0.1')`;
    const check = `echo checked >> ${order}`;
    const words = ['--serve', check, '15', String(port), socket, '--', process.execPath, '-e', server];
    const child = spawn(join(dir, 'bin/forward'), words);
    const end = ended(child);
    await new Promise((resolve) => child.stdout.once('data', resolve));
    expect(await text(connect(socket))).toBe('answer');
    child.stdin.end();
    expect(await end).toEqual({ code: 143, out: 'ready\n', err: '' });
    expect(await readFile(order, 'utf8')).toBe('listens checked\n');
  });

  test('says how a check fails, once for each way, whatever it leaves in the background', async () => {
    const [port, socket, mark] = [await freePort(), join(dir, 'slow.sock'), join(dir, 'mark')];
    const server = `require('net').createServer((client) => client.on('error', () => {}).end()).listen(${port}, '127.0.0.1')`;
    const check = `test -e ${mark} && exit 0; sleep 60 & yes no | head -c 300000; exit 7`;
    const words = ['--serve', check, '15', String(port), socket, '--', process.execPath, '-e', server];
    const child = spawn(join(dir, 'bin/forward'), words);
    const end = ended(child);
    await new Promise((resolve) => child.stderr.once('data', resolve));
    await writeFile(mark, '');
    await new Promise((resolve) => child.stdout.once('data', resolve));
    child.stdin.end();
    const { err } = await end;
    expect(err).toBe(`the ready check exited 7: ${'no\n'.repeat(170)}n\n`);
  });
});
