import { createServer, request, type IncomingMessage } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { Transform } from 'node:stream';

/** What becomes of a request to the engine. */
export type Misdeed =
  /** Answered with this status, and never passed on. */
  | { status: number; message?: string }
  /** Passed on after this time. */
  | { delayMs: number }
  /** Passed on; its stream is reset after the client has sent so many bytes. */
  | { cutInputAfter: number }
  /** Passed on; its answer breaks off after so many bytes of its body or stream, by a reset or by a plain end. */
  | { cutAfter: number; by: 'reset' | 'end' }
  /** Passed on; the client never receives the answer. */
  | 'swallow'
  /** Passed on; the answer is another one. */
  | { rewrite: (body: string) => string }
  /** Passed on; each piece of the answer is another one of the same length. */
  | { alter: (piece: string) => string };

/** Decides on a request, such as `POST /v1.41/containers/create`. */
export type Rule = (call: string) => Misdeed | undefined;

/** A proxy between halo and an engine. */
export interface EngineProxy {
  socket: string;
  /** As DOCKER_HOST has it: a port of the loopback interface, for which dockerode heeds DOCKER_CLIENT_TIMEOUT. */
  host: string;
  /** For all further requests. */
  misbehave(rule: Rule): void;
  /** How many bytes the engine has received so far. */
  sentBytes(): number;
  /** How many bytes it has answered. */
  answeredBytes(): number;
  close(): Promise<void>;
}

/**
 * A proxy before the engine's socket. While no engine listens there, it keeps clients waiting, as systemd does for the
 * engine that it starts. With `tls`, its port speaks TLS.
 */
export async function openEngineProxy(upstream: string, { tls }: { tls?: TlsOptions } = {}): Promise<EngineProxy> {
  const dir = mkdtempSync(join(tmpdir(), 'halo-engine-proxy-'));
  const socket = join(dir, 'docker.sock');
  let decide: Rule = () => undefined;
  const open = new Set<Socket>();
  const reached: Socket[] = [];
  const reach = async (incoming: IncomingMessage, misdeed: Misdeed | undefined) => {
    if (typeof misdeed === 'object' && 'delayMs' in misdeed) await pause(misdeed.delayMs);
    const connection = await connectWhenThere(upstream, () => incoming.socket.destroyed);
    open.add(connection);
    reached.push(connection);
    connection.on('error', () => undefined);
    return connection;
  };
  const server = createServer({ maxHeaderSize: 1_000_000 }, (incoming, answer) => {
    const misdeed = decide(`${incoming.method} ${incoming.url}`);
    if (typeof misdeed === 'object' && 'status' in misdeed) {
      answer.writeHead(misdeed.status, { 'content-type': 'application/json' });
      return void answer.end(JSON.stringify({ message: misdeed.message ?? 'the proxy does not want to' }));
    }
    const go = async () => {
      const connection = await reach(incoming, misdeed);
      const { method, url, headers } = incoming;
      const outgoing = request({ createConnection: () => connection, method, path: url, headers });
      answer.on('close', () => connection.destroy());
      outgoing.on('error', () => answer.destroy());
      outgoing.on('response', (response) => {
        response.on('error', () => answer.destroy());
        if (misdeed === 'swallow') return void response.resume();
        if (typeof misdeed === 'object' && 'rewrite' in misdeed) {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          return void response.on('end', () => {
            answer.writeHead(response.statusCode ?? 500, { 'content-type': 'application/json' });
            answer.end(misdeed.rewrite(Buffer.concat(chunks).toString()));
          });
        }
        const alter = typeof misdeed === 'object' && 'alter' in misdeed ? misdeed.alter : undefined;
        const { date } = response.headers;
        answer.writeHead(response.statusCode ?? 500, {
          ...response.headers,
          ...(alter && date && { date: alter(date) }),
        });
        answer.flushHeaders();
        if (alter !== undefined) return void response.pipe(altered(alter)).pipe(answer);
        response.pipe(cut(misdeed, answer.socket)).pipe(answer);
      });
      incoming.pipe(outgoing);
    };
    go().catch(() => answer.destroy());
  });
  server.on('upgrade', (incoming: IncomingMessage, client: Socket, head: Buffer) => {
    const misdeed = decide(`${incoming.method} ${incoming.url}`);
    client.on('error', () => undefined);
    if (typeof misdeed === 'object' && 'status' in misdeed)
      return void client.end(`HTTP/1.1 ${misdeed.status} No\r\nContent-Length: 0\r\n\r\n`);
    const go = async () => {
      const engine = await reach(incoming, misdeed);
      client.on('close', () => engine.destroy());
      engine.on('close', () => client.end());
      // In one piece: whatever comes after the head of the request is stdin to the engine.
      engine.write(Buffer.concat([headOf(incoming), head]));
      const answer = await readHead(engine);
      // Reads on, to notice its end.
      if (misdeed === 'swallow') return void client.resume().once('end', () => client.destroy());
      client.write(answer);
      if (typeof misdeed === 'object' && 'cutInputAfter' in misdeed) cutInput(client, engine, misdeed.cutInputAfter);
      client.pipe(engine);
      engine.pipe(cut(misdeed, client)).pipe(client);
    };
    go().catch(() => client.destroy());
  });
  server.on('connection', (connection) => {
    open.add(connection);
    connection.on('close', () => open.delete(connection));
  });
  server.listen(socket);
  await once(server, 'listening');
  const accept = (client: Socket) => {
    open.add(client);
    client.on('close', () => open.delete(client));
    client.on('error', () => undefined);
    server.emit('connection', client);
  };
  const port =
    tls === undefined
      ? createTcpServer({ allowHalfOpen: true }, accept)
      : createTlsServer({ ...tls, allowHalfOpen: true } as TlsOptions, accept);
  port.listen(0, '127.0.0.1');
  await once(port, 'listening');
  return {
    socket,
    host: `tcp://127.0.0.1:${(port.address() as AddressInfo).port}`,
    misbehave: (rule) => void (decide = rule),
    answeredBytes: () => reached.reduce((sum, { bytesRead }) => sum + bytesRead, 0),
    sentBytes: () => reached.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0),
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      port.close();
      for (const connection of open) connection.destroy();
      await closed;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function connectWhenThere(path: string, givenUp: () => boolean): Promise<Socket> {
  for (;;) {
    const socket = connect(path);
    const there = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    if (there) return socket;
    if (givenUp()) throw new Error('no client waits any more');
    await pause(50);
  }
}

function headOf({ method, url, rawHeaders }: IncomingMessage): Buffer {
  const headers = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [`${name}: ${rawHeaders[index + 1]}\r\n`] : [],
  );
  return Buffer.from(`${method} ${url} HTTP/1.1\r\n${headers.join('')}\r\n`, 'latin1');
}

/** Takes the head of the answer from the socket, and leaves the rest in it. */
async function readHead(socket: Socket): Promise<Buffer> {
  let got = Buffer.alloc(0);
  for (;;) {
    const arriving = once(socket, 'data') as Promise<[Buffer]>;
    socket.resume();
    const [chunk] = await arriving;
    socket.pause();
    got = Buffer.concat([got, chunk]);
    const end = got.indexOf('\r\n\r\n');
    if (end < 0) continue;
    socket.unshift(got.subarray(end + 4));
    return got.subarray(0, end + 4);
  }
}

function cutInput(client: Socket, engine: Socket, bytes: number): void {
  let left = bytes;
  client.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left > 0) return;
    engine.destroy();
    client.destroy();
  });
}

function altered(alter: (piece: string) => string): Transform {
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => done(null, Buffer.from(alter(chunk.toString('latin1')), 'latin1')),
  });
}

/** Lets through so many bytes, and breaks off. */
function cut(misdeed: Misdeed | undefined, client: Socket | null): Transform {
  let left = typeof misdeed === 'object' && 'cutAfter' in misdeed ? misdeed.cutAfter : Infinity;
  const reset = typeof misdeed === 'object' && 'by' in misdeed && misdeed.by === 'reset';
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const kept = chunk.subarray(0, left);
      left -= kept.length;
      if (kept.length > 0) this.push(kept);
      if (left > 0 || kept.length === 0) return done();
      if (!reset) this.push(null);
      // Once what is kept is on its way.
      else setTimeout(() => client?.destroy(), 50);
      done();
    },
    flush: (done) => {
      if (!reset) done();
    },
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
