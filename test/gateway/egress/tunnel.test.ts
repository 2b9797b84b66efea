import { connect as connectSocket, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { describe, expect, it, vi } from 'vitest';
import { ask, connectTo } from '../client.ts';
import { gateway, httpServer, listening, localhost } from '../fixture.ts';
import { PATIENCE } from '../../support/patience.ts';

/** Sends back everything, and ends when the client has ended. */
const echoServer = () =>
  listening(createServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => {}).pipe(socket)));

/** The same server by the name of this machine. */
const named = (target: string) => target.replace('127.0.0.1', 'localhost');

describe('a tunnel', () => {
  it('forwards bytes unchanged in both directions and keeps half-closed sides open', async () => {
    const target = await echoServer();
    const gate = await gateway({ allow: [target] });
    const { status, socket } = await connectTo(gate.socket, target);
    expect(status).toBe(200);
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 256));
    socket.end(bytes);
    const parts: Buffer[] = [];
    for await (const part of socket) parts.push(part as Buffer);
    expect(Buffer.concat(parts).equals(bytes)).toBe(true);
    expect(gate.requests()).toEqual([{ method: 'CONNECT', target, outcome: 'served', status: 200 }]);
  });

  it('forwards bytes that arrived with the request', async () => {
    const target = await echoServer();
    const gate = await gateway({ allow: [target] });
    const socket = connectSocket(gate.socket);
    socket.end(`CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n\r\nearly`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 .*\r\n\r\nearly$/s);
  });

  it('forwards TLS that ends at the server', async () => {
    const target = named(await listening(createTlsServer(localhost, (socket) => socket.end('secret hello'))));
    const gate = await gateway({ allow: [target], mayBePrivate: [target] });
    const { socket } = await connectTo(gate.socket, target);
    expect(await text(connectTls({ socket, ca: localhost.cert, servername: 'localhost' }))).toBe('secret hello');
  });

  it.each([
    ['another name', 'other.example', /cut off; its TLS is for "other\.example"/],
    ['no name', '', /cut off; its TLS names no server/],
  ])('is closed if its TLS names %s', async (_what, servername, reason) => {
    let reached = 0;
    const server = createTlsServer(localhost, (socket) => socket.end('hello'));
    server.on('connection', (socket: Socket) => socket.on('data', () => (reached += 1)));
    const target = named(await listening(server));
    const refused: string[] = [];
    const options = { allow: [target], mayBePrivate: [target] };
    const gate = await gateway({ ...options, onRefused: (_target, said) => refused.push(said) });
    const { socket } = await connectTo(gate.socket, target);
    const tls = connectTls({ socket, ca: localhost.cert, servername });
    await new Promise((resolve) => tls.on('error', () => {}).once('close', resolve));
    expect(reached).toBe(0);
    expect(refused).toEqual([expect.stringMatching(reason)]);
    expect(gate.traffic()).toMatchObject([
      { route: 'tunnel', target, outcome: 'served', count: 1 },
      { route: 'tunnel', target, outcome: 'refused', count: 1, reason: expect.stringMatching(reason) as string },
    ]);
  });

  it.each([
    ['out', { tunnelUpBytes: 1000 }],
    ['in', { tunnelDownBytes: 1000 }],
  ])('is closed if more than allowed goes %s', async (way, limits) => {
    const target = await echoServer();
    const refused: string[] = [];
    const gate = await gateway({ allow: [target], limits, onRefused: (_target, said) => refused.push(said) });
    const { socket } = await connectTo(gate.socket, target);
    socket.on('error', () => {}).write(Buffer.alloc(2000, 'x'));
    await new Promise((resolve) => socket.resume().once('close', resolve));
    expect(refused).toEqual([expect.stringContaining(`cut off; more than 1000 bytes went ${way}`)]);
  });

  it.each([
    [
      'a host that is not allowed',
      'packages.example.com:443',
      /packages\.example\.com:443 refused; add it to \[network\] allow/,
    ],
    ['another port', '127.0.0.1:1', /127\.0\.0\.1:1 refused; add it/],
    ['a longer name', 'evil-allowed.example:443', /refused; add it/],
    ['a trailing dot', 'allowed.example.:443', /not a plain host:port/],
    ['an escaped NUL', 'a%00.allowed.example:443', /not a plain host:port/],
    ['a user name', 'allowed.example:443@evil.example:443', /not a plain host:port/],
    ['an octal address', '0177.0.0.1:443', /not a plain host:port/],
  ])('is refused for %s', async (_what, target, reason) => {
    const refused: [string, string][] = [];
    const gate = await gateway({ allow: ['allowed.example:443'], onRefused: (...said) => refused.push(said) });
    const { status, socket } = await connectTo(gate.socket, target);
    expect(status).toBe(403);
    expect(await text(socket)).toMatch(reason);
    expect(refused).toEqual([[target, expect.stringMatching(reason)]]);
    expect(gate.requests()).toEqual([{ method: 'CONNECT', target, outcome: 'refused', status: 403 }]);
  });

  it('is refused for every target if nothing is allowed', async () => {
    const target = await echoServer();
    for (const options of [{}, { allow: [] }]) {
      const gate = await gateway(options);
      expect((await connectTo(gate.socket, target)).status).toBe(403);
    }
    await expect(gateway({ allow: [''] })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('responds with 502 if the target is unreachable', async () => {
    const gate = await gateway({ allow: ['127.0.0.1:1'] });
    const { status, socket } = await connectTo(gate.socket, '127.0.0.1:1');
    expect(status).toBe(502);
    expect(await text(socket)).toContain('127.0.0.1:1 could not be reached: the connection was refused');
  });

  it('ends on one side when the other side is aborted', async () => {
    const accepted: Socket[] = [];
    const ended: string[] = [];
    const server = createServer((socket) => {
      accepted.push(socket);
      socket.on('error', () => {}).on('close', () => ended.push('server'));
      socket.write('x');
    });
    const target = await listening(server);
    const gate = await gateway({ allow: [target] });
    const first = (await connectTo(gate.socket, target)).socket;
    await new Promise((resolve) => first.once('data', resolve));
    first.destroy();
    await vi.waitFor(() => expect(ended).toEqual(['server']), PATIENCE);
    const second = (await connectTo(gate.socket, target)).socket;
    await new Promise((resolve) => second.once('data', resolve));
    const closed = new Promise((resolve) => second.on('error', () => {}).once('close', resolve));
    accepted[1]?.resetAndDestroy();
    await closed;
  });

  it('ends on both sides with its gateway', async () => {
    let open = 0;
    const server = createServer((socket) => {
      open += 1;
      socket.on('error', () => {}).on('close', () => (open -= 1));
      socket.write('x');
    });
    const target = await listening(server);
    const gate = await gateway({ allow: [target] });
    const { socket } = await connectTo(gate.socket, target);
    await new Promise((resolve) => socket.once('data', resolve));
    const closed = new Promise((resolve) => socket.on('error', () => {}).once('close', resolve));
    await gate.close();
    await closed;
    await vi.waitFor(() => expect(open).toBe(0), PATIENCE);
  });
});

describe('a plain HTTP request through the gateway', () => {
  it('is forwarded without credentials if its host is allowed', async () => {
    const seen: unknown[] = [];
    const target = await httpServer((req, res) => {
      seen.push([req.method, req.url, req.headers.host, req.headers.authorization, req.headers.cookie]);
      res.setHeader('set-cookie', 'a=b');
      res.end('package');
    });
    const gate = await gateway({ allow: [target] });
    const headers = { authorization: 'Basic x', cookie: 'a=b', 'proxy-authorization': 'Basic y' };
    const answer = await ask(gate.socket, { method: 'GET', path: `http://${target}/a?b=c`, body: undefined, headers });
    expect([answer.status, answer.body, answer.headers['set-cookie']]).toEqual([200, 'package', undefined]);
    const head = await ask(gate.socket, { method: 'HEAD', path: `http://${target}`, body: undefined });
    expect([head.status, head.body]).toEqual([200, '']);
    expect(seen).toEqual([
      ['GET', '/a?b=c', target, undefined, undefined],
      ['HEAD', '/', target, undefined, undefined],
    ]);
  });

  it('is refused for other hosts, other methods, and with a body', async () => {
    const target = await httpServer((_req, res) => res.end('package'));
    const refused: string[] = [];
    const gate = await gateway({ allow: [target], onRefused: (_target, reason) => refused.push(reason) });
    const status = async (method: string, path: string, body?: string) =>
      (await ask(gate.socket, { method, path, body, headers: body === undefined ? {} : { 'content-length': '1' } }))
        .status;
    expect(await status('GET', 'http://other.example/')).toBe(403);
    expect(await status('GET', `http://user@${target}/`)).toBe(403);
    expect(await status('GET', `https://${target}/`)).toBe(403);
    expect(await status('PUT', `http://${target}/`, 'x')).toBe(405);
    expect(await status('GET', `http://${target}/`, 'x')).toBe(400);
    expect(refused[0]).toBe('network: other.example:80 refused; add it to [network] allow');
    expect(refused).toHaveLength(5);
    const unlisted = gate.traffic().filter((row) => row.unlisted);
    expect(unlisted.map(({ target }) => target)).toEqual(['other.example:80']);
  });

  it('responds with 502 if the host is unreachable', async () => {
    const gate = await gateway({ allow: ['127.0.0.1:1'] });
    const answer = await ask(gate.socket, { method: 'GET', path: 'http://127.0.0.1:1/', body: undefined });
    expect([answer.status, answer.body]).toEqual([
      502,
      expect.stringContaining('could not be reached: the connection was refused'),
    ]);
  });
});
