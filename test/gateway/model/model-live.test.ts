import { stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { startGateway } from '../../../src/gateway/gateway.ts';
import type { ModelRoute } from '../../../src/gateway/model/model-route.ts';
import { ask, open } from '../client.ts';
import { gateway, httpServer, listening, localhost, modelServer, OPENAI, TOKEN } from '../fixture.ts';
import { PATIENCE } from '../../support/patience.ts';

const KEY = 'sk-canary-0123456789abcdef';
const live = (baseUrl: string, key: string | undefined = KEY): ModelRoute => ({
  ...OPENAI,
  mode: 'live',
  baseUrl,
  providerKeys: key === undefined ? [] : [key],
  cassette: '',
});

describe('the live model route', () => {
  it('adds the key and removes the client’s own credentials', async () => {
    const model = await modelServer([{ say: 'hello' }]);
    const gate = await gateway({ model: live(model.url) });
    const headers = {
      authorization: 'Bearer foreign',
      'x-api-key': 'foreign',
      'x-goog-api-key': TOKEN,
      cookie: 'a=foreign',
      originator: 'codex_exec',
    };
    const answer = await ask(gate.socket, { headers });
    expect(answer.status).toBe(200);
    const [request] = model.requests;
    expect(request?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(request?.headers.originator).toBe('codex_exec');
    expect(JSON.stringify(request)).not.toMatch(new RegExp(`foreign|${TOKEN}`));
    expect(answer.all).not.toContain(KEY);
  });

  it('sends no Authorization header when there is no key', async () => {
    const model = await modelServer([{ say: 'hello' }]);
    const gate = await gateway({
      model: { ...OPENAI, mode: 'live', baseUrl: `${model.url}/`, providerKeys: [], cassette: '' },
    });
    expect((await ask(gate.socket)).status).toBe(200);
    expect(model.requests[0]?.headers.authorization).toBeUndefined();
    expect(model.requests[0]?.path).toBe('/v1/responses');
  });

  it('meters streams and documents', async () => {
    const usage = { input: 70, output: 7, cached: 20 };
    const model = await modelServer([
      { say: 'hello', usage },
      { run: 'true', usage },
    ]);
    const gate = await gateway({ model: live(model.url) });
    await ask(gate.socket);
    expect(gate.usage()).toEqual({ requests: 1, inputTokens: 70, cachedTokens: 20, outputTokens: 7 });
    const document = await httpServer((_req, res) => {
      res.setHeader('content-type', 'application/json');
      res.end('{"usage":{"input_tokens":5,"output_tokens":3}}');
    });
    const other = await gateway({ model: live(`http://${document}/v1`) });
    await ask(other.socket, { body: { model: 'm', input: [] } });
    expect(other.usage()).toEqual({ requests: 1, inputTokens: 5, cachedTokens: 0, outputTokens: 3 });
  });

  it('masks the key wherever the provider repeats it', async () => {
    const provider = await httpServer((req, res) => {
      const said = req.headers.authorization ?? '';
      res.writeHead(200, {
        'content-type': 'text/event-stream',
        'x-echo': said,
        'set-cookie': 'a=b',
        'x-request-id': 'yes',
      });
      const cut = said.length - 5;
      res.write(`data: ${said.slice(0, cut)}`);
      setTimeout(() => res.end(`${said.slice(cut)} and sk-can\n\n`), 20);
    });
    const gate = await gateway({ model: live(`http://${provider}/v1`) });
    const answer = await ask(gate.socket);
    expect(answer.all).not.toContain(KEY);
    expect(answer.body).toBe(`data: Bearer ${'*'.repeat(KEY.length)} and sk-can\n\n`);
    expect(answer.headers['set-cookie']).toBeUndefined();
    expect(answer.headers['x-request-id']).toBe('yes');
  });

  it.each([
    [401, 401, /refused the key \(HTTP status 401\)/],
    [403, 403, /refused the key \(HTTP status 403\)/],
    [302, 502, /a redirect \(HTTP status 302\)/],
  ])('replaces a %i by its own sentence', async (status, shown, sentence) => {
    const provider = await httpServer((req, res) => {
      res.writeHead(status, { location: `http://127.0.0.1:1/${req.headers.authorization}` });
      res.end(`Incorrect key: ${req.headers.authorization}`);
    });
    const gate = await gateway({ model: live(`http://${provider}/v1`) });
    const answer = await ask(gate.socket);
    expect(answer.status).toBe(shown);
    expect(answer.all).not.toContain(KEY);
    expect(answer.body).toMatch(sentence);
    expect(gate.problem()?.sentence).toMatch(sentence);
  });

  it('forwards other errors, and clears them after a success', async () => {
    const model = await modelServer([{ fail: 429, headers: { 'retry-after': '7' } }, { say: 'hello' }]);
    const gate = await gateway({ model: live(model.url) });
    const refused = await ask(gate.socket);
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '7']);
    expect(refused.body).toContain('scripted failure 429');
    expect(gate.problem()?.sentence).toMatch(/limits requests, .* \(HTTP status 429\): scripted failure 429/);
    await ask(gate.socket);
    expect(gate.problem()?.sentence).toBeUndefined();
    expect(gate.requests().map(({ status }) => status)).toEqual([429, 200]);
  });

  it('refuses a compressed answer, which could hide the key', async () => {
    const provider = await httpServer((req, res) => {
      expect(req.headers['accept-encoding']).toBe('identity');
      res.writeHead(200, { 'content-encoding': 'gzip' });
      res.end(gzipSync('hello'));
    });
    const gate = await gateway({ model: live(`http://${provider}/v1`) });
    expect((await ask(gate.socket)).status).toBe(502);
  });

  it('reports why the provider is unreachable', async () => {
    const gate = await gateway({ model: live('http://127.0.0.1:1/v1') });
    const answer = await ask(gate.socket);
    expect(answer.status).toBe(502);
    expect(answer.body).toContain('127.0.0.1:1 could not be reached: the connection was refused (ECONNREFUSED)');
    expect(gate.problem()?.sentence).toContain('could not be reached');
  });

  it('does not send the key to a provider whose certificate is not trusted', async () => {
    let said = '';
    const server = createTlsServer(localhost, (socket) =>
      socket.on('data', (chunk: Buffer) => (said += chunk.toString())),
    );
    const port = (await listening(server)).split(':')[1];
    const gate = await gateway({ model: live(`https://localhost:${port}/v1`) });
    expect((await ask(gate.socket)).body).toContain('its certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)');
    expect(said).toBe('');
  });

  it('reports a provider that does not use TLS', async () => {
    const plain = await httpServer((_req, res) => res.end('hello'));
    const gate = await gateway({ model: live(`https://${plain}/v1`) });
    expect((await ask(gate.socket)).status).toBe(502);
  });

  it('repeats a request if the provider had closed a keep-alive connection', async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      const first = connections === 1;
      socket.on('error', () => {});
      let answered = 0;
      socket.on('data', () => {
        if (first && answered++ > 0) return void socket.resetAndDestroy();
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-type: text/plain\r\n\r\nok');
      });
    });
    const gate = await gateway({ model: live(`http://${await listening(server)}/v1`) });
    expect((await ask(gate.socket)).body).toBe('ok');
    expect((await ask(gate.socket)).body).toBe('ok');
    expect(connections).toBe(2);
  });

  it.each([
    ['another path', { path: '/v1/files' }, 404],
    ['a query', { path: '/v1/responses?x=1' }, 404],
    ['a double slash', { path: '//v1/responses' }, 404],
    ['another method', { method: 'GET', body: undefined }, 404],
    ['a body that is not JSON', { body: 'hello' }, 400],
    ['a body that is not an object', { body: '[1]' }, 400],
    ['a compressed body', { headers: { 'content-encoding': 'gzip' } }, 415],
    ['headers without end', { headers: { 'x-long': 'x'.repeat(20_000) } }, 400],
  ])('refuses %s', async (_what, asked, status) => {
    const model = await modelServer([{ say: 'hello' }]);
    const gate = await gateway({ model: live(model.url) });
    expect((await ask(gate.socket, asked)).status).toBe(status);
    expect(model.requests).toEqual([]);
  });

  it('refuses a body that is too large before it was read', async () => {
    const model = await modelServer([{ say: 'hello' }]);
    const gate = await gateway({ model: live(model.url) });
    const answer = ask(gate.socket, { body: `"${'x'.repeat(65 * 1024 * 1024)}"` });
    // The gateway may close the connection while the client still writes.
    await expect(
      answer.then(
        ({ status }) => status,
        (error: NodeJS.ErrnoException) => error.code,
      ),
    ).resolves.toSatisfy((ended) => ended === 413 || ended === 'EPIPE' || ended === 'ECONNRESET');
    expect(gate.requests()).toMatchObject([{ outcome: 'refused', status: 413 }]);
  });

  it('forwards the parsed body, so that two parsers cannot disagree', async () => {
    const model = await modelServer([{ say: 'hello' }]);
    const gate = await gateway({ model: live(model.url) });
    await ask(gate.socket, { body: '{"other":1,  "input":[] ,"model":"m"}' });
    expect(model.requests[0]?.body).toBe('{"model":"m","input":[],"store":false}');
  });

  it('ends the request to the provider when the client disconnects', async () => {
    let left = 0;
    const provider = await httpServer((_req, res) => {
      res.on('close', () => (left += 1));
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write('data: {}\n\n');
    });
    const gate = await gateway({ model: live(`http://${provider}/v1`) });
    const res = await open(gate.socket);
    // The first event arrives although the stream has not ended.
    await new Promise((resolve) => res.once('data', resolve));
    res.destroy();
    await vi.waitFor(() => expect(left).toBe(1), PATIENCE);
  });

  it('reports a response that the provider broke off, until another one succeeds, and none that the client left', async () => {
    const model = await modelServer([{ cut: 'middle' }, { say: 'hello' }, { cut: 'headers' }, { hang: true }]);
    const gate = await gateway({ model: live(model.url) });
    await ask(gate.socket).catch(() => undefined);
    const broken = {
      cause: 'provider-failed',
      sentence: expect.stringMatching(/ broke off a response: .*\.$/) as string,
    };
    await vi.waitFor(() => expect(gate.problem()).toMatchObject(broken), PATIENCE);
    await ask(gate.socket);
    expect(gate.problem()).toBeUndefined();
    await ask(gate.socket).catch(() => undefined);
    await vi.waitFor(() => expect(gate.problem()).toMatchObject(broken), PATIENCE);
    const left = await open(gate.socket);
    left.destroy();
    await vi.waitFor(() => expect(gate.requests()).toHaveLength(4), PATIENCE);
    expect(gate.problem()).toBeUndefined();
  });

  it('ends open streams when it closes, and removes the socket', async () => {
    let left = 0;
    const provider = await httpServer((_req, res) => {
      res.on('close', () => (left += 1));
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write('data: {}\n\n');
    });
    const gate = await gateway({ model: live(`http://${provider}/v1`) });
    expect((await stat(gate.socket)).mode & 0o777).toBe(0o666);
    const res = await open(gate.socket);
    const ended = new Promise((resolve) => res.once('error', resolve));
    res.resume();
    await gate.close();
    await ended;
    await vi.waitFor(() => expect(left).toBe(1), PATIENCE);
    await expect(stat(gate.socket)).rejects.toMatchObject({ code: 'ENOENT' });
    await gate.close();
  });

  it('aborts the client’s stream if the provider’s is aborted', async () => {
    const model = await modelServer([{ cut: 'middle' }]);
    const gate = await gateway({ model: live(model.url) });
    await expect(ask(gate.socket)).rejects.toMatchObject({ code: 'ECONNRESET' });
    await vi.waitFor(() => expect(gate.usage().requests).toBe(1), PATIENCE);
  });

  it('reads no more from the provider than a slow client accepts', async () => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const total = 800 * chunk.length;
    let sent = 0;
    const provider = await httpServer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      const send = () => {
        while (sent < total) {
          sent += chunk.length;
          if (!res.write(chunk)) return void res.once('drain', send);
        }
        res.end();
      };
      send();
    });
    const gate = await gateway({ model: live(`http://${provider}/v1`) });
    const res = await open(gate.socket);
    // Not read: what was sent settles at what buffers hold.
    let before = -1;
    while (before !== sent) {
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(sent).toBeLessThan(total / 3);
    let received = 0;
    for await (const part of res) received += (part as Buffer).length;
    expect(received).toBe(total);
  });

  it('refuses a socket path that is too long, and an invalid base URL', async () => {
    await expect(gateway({ model: live('ftp://127.0.0.1/v1') })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await expect(startGateway({ socketPath: `/tmp/${'é'.repeat(60)}` })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      hint: expect.stringContaining('HALO_HOME') as string,
    });
  });

  it('has no model route if none is configured', async () => {
    const gate = await gateway({});
    const answer = await ask(gate.socket);
    expect([answer.status, answer.body]).toEqual([404, expect.stringContaining('no model route')]);
  });
});
