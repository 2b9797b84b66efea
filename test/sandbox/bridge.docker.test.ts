import { spawn, type ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer as createHttpServer, request, type IncomingMessage, type Server } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { PassThrough, type Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { encodeFrame, multiplex } from '../../src/sandbox/stdio-channel.ts';
import { takeTools } from '../support/docker/image-tools.ts';
import { freePort } from '../support/network/free-port.ts';

let dir: string;

// The program is static, so what the image has can be tried here, with real pipes.
beforeAll(async () => {
  dir = await takeTools();
}, 600_000);
afterAll(() => rm(dir, { recursive: true, force: true }));

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

interface Bridge {
  port: number;
  child: ChildProcess;
  ended: Promise<string>;
}

/** A bridge as a sandbox has it, here without one. */
async function openBridge(accept: (connection: Duplex) => void): Promise<Bridge> {
  const port = await freePort();
  const child = spawn(join(dir, 'bin/bridge'), [String(port)], { stdio: ['pipe', 'pipe', 'inherit'] });
  undo.push(() => child.kill());
  let ended!: Promise<string>;
  await new Promise<void>((resolve, reject) => {
    ended = multiplex({ from: child.stdout, to: child.stdin }, { listening: resolve, accept });
    void ended.then((why) => reject(new Error(why)));
  });
  return { port, child, ended };
}

async function exchange(port: number, body: Buffer): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const hash = createHash('sha256');
  socket.end(body);
  for await (const chunk of socket) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

const digest = (body: Buffer) => createHash('sha256').update(body).digest('hex');
const echo = (connection: Duplex) => void connection.pipe(connection);

describe('the bridge', () => {
  test('transfers large bodies in both directions, and forwards the end of one direction while the other continues', async () => {
    const body = randomBytes(48 * 1024 * 1024);
    const { port } = await openBridge((connection) => {
      const chunks: Buffer[] = [];
      connection.on('data', (chunk: Buffer) => chunks.push(chunk));
      connection.on('end', () => connection.end(Buffer.concat(chunks)));
    });
    expect(await exchange(port, body)).toBe(digest(body));
  });

  test('transfers more connections than may be open concurrently, one after another', async () => {
    const { port } = await openBridge(echo);
    for (let round = 0; round < 3; round++) {
      const bodies = Array.from({ length: 300 }, () => randomBytes(20_000));
      expect(await Promise.all(bodies.map((body) => exchange(port, body)))).toEqual(bodies.map(digest));
    }
  });

  test('does not delay other connections for one that is not read', async () => {
    let first = true;
    const { port } = await openBridge((connection) => {
      if (!first) echo(connection);
      first = false;
    });
    const stuck = connect(port, '127.0.0.1');
    undo.push(() => stuck.destroy());
    stuck.write(Buffer.alloc(8 * 1024 * 1024));
    await once(stuck, 'connect');
    const body = randomBytes(1_000_000);
    expect(await exchange(port, body)).toBe(digest(body));
    expect(stuck.writableLength).toBeGreaterThan(1_000_000);
  });

  test('slows down a server whose client does not read', async () => {
    const sent = { bytes: 0 };
    const { port } = await openBridge((connection) => {
      const more = () => {
        do sent.bytes += 65_536;
        while (connection.write(Buffer.alloc(65_536)));
      };
      connection.on('drain', more);
      more();
    });
    const lazy = connect(port, '127.0.0.1').pause();
    undo.push(() => lazy.destroy());
    let before = -1;
    while (before !== sent.bytes) {
      before = sent.bytes;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(sent.bytes).toBeLessThan(32 * 1024 * 1024);
  });

  test('delivers the answer of a server that closes without reading everything', async () => {
    const { port } = await openBridge((connection) => {
      connection.once('data', () => connection.end('too much', () => connection.destroy()));
    });
    const socket = connect(port, '127.0.0.1');
    undo.push(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.write(Buffer.alloc(4 * 1024 * 1024));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(String(answer)).toBe('too much');
  });

  test('closes the server’s side when the client disconnects', async () => {
    let gone!: () => void;
    const closed = new Promise<void>((resolve) => (gone = resolve));
    const { port } = await openBridge((connection) => {
      connection.on('close', gone).resume();
    });
    const socket = connect(port, '127.0.0.1');
    await new Promise<void>((resolve) => socket.write('hello', () => resolve()));
    socket.resetAndDestroy();
    await closed;
  });

  test('serves Node’s HTTP server like a socket: kept connections, streams, refusals, timeouts', async () => {
    const server: Server = createHttpServer((req, res) => {
      if (req.url === '/refused') return void res.writeHead(413, { connection: 'close' }).end('no');
      if (req.url !== '/silent') req.pipe(res);
    });
    server.setTimeout(300, (socket) => socket.destroy());
    const { port } = await openBridge((connection) => server.emit('connection', connection));
    const ask = async (path: string, body: string) => {
      const outgoing = request({ port, host: '127.0.0.1', path, method: 'POST' });
      outgoing.end(body);
      const [res] = (await once(outgoing, 'response')) as [IncomingMessage];
      return `${res.statusCode} ${await text(res)}`;
    };
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => ask('/', `${i}`)));
    expect(answers).toEqual(Array.from({ length: 20 }, (_, i) => `200 ${i}`));
    expect(await ask('/refused', 'x'.repeat(1000))).toBe('413 no');
    await expect(ask('/silent', '')).rejects.toThrow('socket hang up');
  });

  test('ends with its stdin, and closes all connections when it is killed', async () => {
    const closed: string[] = [];
    const { port, child, ended } = await openBridge((connection) => connection.on('close', () => closed.push('one')));
    const sockets = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
    for (const socket of sockets) socket.on('error', () => undefined).write('x');
    await expect.poll(() => closed.length + sockets.filter(({ connecting }) => !connecting).length).toBe(2);
    child.kill('SIGKILL');
    await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve))));
    await ended;
    const second = await openBridge(echo);
    second.child.stdin!.end();
    const [code] = (await once(second.child, 'close')) as [number];
    expect(code).toBe(0);
  });

  test('exits with 125 if the port is in use', async () => {
    const { port } = await openBridge(echo);
    const second = spawn(join(dir, 'bin/bridge'), [String(port)]);
    const code = once(second, 'close');
    const complaint = await text(second.stderr);
    expect(await code).toEqual([125, null]);
    expect(complaint).toContain('Address already in use');
  });
});

describe('a hostile bridge', () => {
  /** Feeds frames to a multiplexer as if a bridge had sent them; its answers are not read unless `reads`. */
  function attack({ reads = true, accept }: { reads?: boolean; accept?: (connection: Duplex) => void } = {}) {
    const from = new PassThrough({ highWaterMark: 64 * 1024 });
    const to = new PassThrough();
    if (reads) to.resume();
    const accepted: Duplex[] = [];
    const keep = (each: Duplex) => {
      accepted.push(each);
      accept?.(each);
    };
    const ended = multiplex({ from, to }, { listening: () => undefined, accept: keep });
    undo.push(() => from.destroy());
    from.on('error', () => undefined);
    return { from, to, accepted, ended };
  }

  const hello = encodeFrame('hello', 0, 1);
  const data = (id: number, bytes: Buffer) => Buffer.concat([encodeFrame('data', id, bytes.length), bytes]);

  test.each([
    ['no hello', [encodeFrame('open', 1)]],
    ['another version', [encodeFrame('hello', 0, 2)]],
    ['garbage', [hello, Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n')]],
    ['a number twice', [hello, encodeFrame('open', 1), encodeFrame('open', 1)]],
    ['numbers with gaps', [hello, encodeFrame('open', 7)]],
    ['data for no connection', [hello, data(1, Buffer.from('x'))]],
    ['empty data', [hello, encodeFrame('open', 1), encodeFrame('data', 1, 0)]],
    ['a frame that is too large', [hello, encodeFrame('open', 1), encodeFrame('data', 1, 0xff_ffff)]],
    ['data after its end', [hello, encodeFrame('open', 1), encodeFrame('end', 1), data(1, Buffer.from('x'))]],
    ['two ends', [hello, encodeFrame('open', 1), encodeFrame('end', 1), encodeFrame('end', 1)]],
    ['credit for nothing', [hello, encodeFrame('open', 1), encodeFrame('credit', 1, 1)]],
    ['a second hello', [hello, encodeFrame('open', 1), encodeFrame('hello', 1, 1)]],
    ['half a frame', [hello, encodeFrame('open', 1).subarray(0, 5)]],
  ])('is disconnected with all its connections after %s', async (_name, frames) => {
    const { from, to, accepted, ended } = attack();
    from.end(Buffer.concat(frames));
    expect(await ended).toMatch(/./);
    expect(to.destroyed).toBe(true);
    expect(accepted.every(({ destroyed }) => destroyed)).toBe(true);
  });

  test('cannot make halo buffer more than a window for each connection, with chunks of any size', async () => {
    const { from, accepted, ended } = attack();
    const one = Buffer.alloc(256 * 1024 * 9, Buffer.from([3, 0, 0, 1, 0, 0, 0, 1, 120]));
    const before = process.memoryUsage().rss;
    from.write(hello);
    from.write(Buffer.concat([encodeFrame('open', 1), one]));
    await expect.poll(() => from.readableLength + from.writableLength).toBe(0);
    expect(accepted).toHaveLength(1);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
    from.write(data(1, Buffer.from('x')));
    expect(await ended).toContain('more data than was asked for');
  });

  test('waits when it opens more connections than allowed, and continues when some close', async () => {
    const { from, accepted } = attack();
    from.write(Buffer.concat([hello, ...Array.from({ length: 300 }, (_, i) => encodeFrame('open', i + 1))]));
    await expect.poll(() => accepted.length).toBe(256);
    for (const connection of accepted.slice(0, 20)) connection.destroy();
    await expect.poll(() => accepted.length).toBe(276);
  });

  test('is not read once its unread answers fill the buffer', async () => {
    // Each connection is refused; the bridge receives this in 8 bytes.
    const { from, to, accepted, ended } = attack({ reads: false, accept: (connection) => connection.destroy() });
    from.write(hello);
    const opens = Buffer.concat(Array.from({ length: 100_000 }, (_, i) => encodeFrame('open', i + 1)));
    from.write(opens);
    await expect.poll(() => to.writableLength + to.readableLength).toBeGreaterThan(256 * 1024);
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(accepted.length).toBeLessThan(opens.length / 8);
    expect(to.writableLength + to.readableLength).toBeLessThan(512 * 1024);
    to.destroy();
    await ended;
  });
});
