import { describe, expect, it } from 'vitest';
import type { ModelRoute } from '../../../src/gateway/model/model-route.ts';
import { gateway, modelServer, OPENAI, TOKEN } from '../fixture.ts';
import { openRaw, sendRaw } from '../raw.ts';
import { ask } from '../client.ts';

const KEY = 'sk-canary-0123456789abcdef';
/** With what lets a request in: what is refused here is refused for another reason. */
const HOST = `Host: x\r\nAuthorization: Bearer ${TOKEN}`;
const BODY = '{"model":"m","input":[]}';

async function open(limits = {}) {
  const model = await modelServer([{ say: 'hello' }, { say: 'hello' }]);
  const route: ModelRoute = { ...OPENAI, mode: 'live', baseUrl: model.url, providerKeys: [KEY], cassette: '' };
  return { model, gate: await gateway({ model: route, limits }) };
}

const post = (line: string, headers: string[] = [], body = BODY) =>
  [`${line}`, HOST, `Content-Length: ${body.length}`, ...headers, '', body].join('\r\n');
const line = 'POST /v1/responses HTTP/1.1';
const chunked = `18\r\n${BODY}\r\n0\r\n\r\n`;

describe('bytes that two parsers could interpret differently reach no provider', () => {
  it.each([
    ['both lengths', [line, HOST, 'Content-Length: 4', 'Transfer-Encoding: chunked', '', chunked].join('\r\n')],
    [
      'both, the other way round',
      [line, HOST, 'Transfer-Encoding: chunked', 'Content-Length: 4', '', chunked].join('\r\n'),
    ],
    ['two lengths', post(line, ['Content-Length: 5'])],
    ['a length with a sign', [line, HOST, `Content-Length: +${BODY.length}`, '', BODY].join('\r\n')],
    ['an unknown encoding', [line, HOST, 'Transfer-Encoding: gzip, chunked, x', '', chunked].join('\r\n')],
    ['a hidden encoding', [line, HOST, 'Transfer-Encoding : chunked', '', chunked].join('\r\n')],
    [
      'a folded header',
      [line, HOST, 'X-A: b', ' Transfer-Encoding: chunked', `Content-Length: ${BODY.length}`, '', BODY].join('\r\n'),
    ],
    ['bare line feeds', post(line).replaceAll('\r\n', '\n')],
    ['a NUL in a header', post(line, ['X-A: a\0b'])],
    ['no host', [line, `Content-Length: ${BODY.length}`, '', BODY].join('\r\n')],
    ['two hosts', post(line, ['Host: y'])],
    ['the whole address', post('POST http://127.0.0.1/v1/responses HTTP/1.1')],
    ['the whole address of elsewhere', post('POST http://evil.example/v1/responses HTTP/1.1')],
    ['an address with a secure scheme', post('POST https://api.openai.com/v1/responses HTTP/1.1')],
    ['a host in the path', post('POST //evil.example/v1/responses HTTP/1.1')],
    ['a double slash', post('POST //v1/responses HTTP/1.1')],
    ['dots', post('POST /v1/../v1/responses HTTP/1.1')],
    ['an escaped path', post('POST /v1/%72esponses HTTP/1.1')],
    ['an escaped slash', post('POST /v1%2fresponses HTTP/1.1')],
    ['a backslash', post('POST \\v1\\responses HTTP/1.1')],
    ['capitals', post('POST /V1/Responses HTTP/1.1')],
    ['a slash too many', post('POST /v1/responses/ HTTP/1.1')],
    ['a query', post('POST /v1/responses?store=true HTTP/1.1')],
    ['a fragment', post('POST /v1/responses#x HTTP/1.1')],
    ['a path parameter', post('POST /v1/responses;x=1 HTTP/1.1')],
    ['TRACE', 'TRACE /v1/responses HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['OPTIONS for all', 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a body on GET', post('GET /v1/responses HTTP/1.1')],
    ['another method', post('PUT /v1/responses HTTP/1.1')],
    ['a method in small letters', post('post /v1/responses HTTP/1.1')],
    ['a method of its own', post('BREW /v1/responses HTTP/1.1')],
    ['an old version', 'POST /v1/responses\r\n\r\n'],
    ['a version to come', post('POST /v1/responses HTTP/2.0')],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['TLS', Buffer.from('160301020001000001fc0303', 'hex')],
    ['a tunnel', 'CONNECT api.openai.com:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
  ])('%s', async (_what, bytes) => {
    const { model, gate } = await open();
    const answer = await sendRaw(gate.socket, bytes);
    expect(answer).not.toMatch(/^HTTP\/1\.1 2/);
    expect(answer).not.toContain(KEY);
    expect(model.requests).toEqual([]);
  });

  it('accepts a plain request, and a chunked one', async () => {
    const { model, gate } = await open();
    expect(await sendRaw(gate.socket, post(line))).toMatch(/^HTTP\/1\.1 200/);
    const whole = [line, HOST, 'Transfer-Encoding: chunked', '', chunked].join('\r\n');
    expect(await sendRaw(gate.socket, whole)).toMatch(/^HTTP\/1\.1 200/);
    expect(model.requests.map(({ body }) => body)).toEqual(Array(2).fill('{"model":"m","input":[],"store":false}'));
  });

  it('forwards no spelling of a credential', async () => {
    const { model, gate } = await open();
    const names = ['X-Api-Key', 'x_api_key', 'X.Api.Key', 'Api-Key', 'AUTHORIZATION', 'Proxy-Authorization', 'Cookie'];
    const others = ['OpenAI-Organization', 'OpenAI-Project', 'OpenAI-Beta', 'X-Forwarded-For', 'X-Goog-Api-Key'];
    const headers = [...names, ...others].map((name) => `${name}: foreign`);
    expect(await sendRaw(gate.socket, post(line, headers))).toMatch(/^HTTP\/1\.1 200/);
    expect(JSON.stringify(model.requests[0])).not.toContain('foreign');
    expect(model.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  });
});

describe('one sandbox cannot exhaust the gateway', () => {
  it('ends connections that never finish their headers or their body', async () => {
    const { gate } = await open({ headersMs: 200, requestMs: 400 });
    const slow = await sendRaw(gate.socket, 'POST /v1/responses HTTP/1.1\r\nHost: x\r\n');
    expect(slow).toMatch(/^HTTP\/1\.1 4/);
    const half = await sendRaw(gate.socket, post(line).slice(0, -5));
    expect(half).toMatch(/^HTTP\/1\.1 4/);
  });

  it('ends idle connections', async () => {
    const { gate } = await open({ idleMs: 100 });
    const socket = await openRaw(gate.socket);
    await new Promise((resolve) => socket.once('close', resolve));
  });

  it('accepts at most its limit of connections, and new ones when old ones have ended', async () => {
    const { gate } = await open({ connections: 4 });
    const held = await Promise.all([1, 2, 3, 4].map(() => openRaw(gate.socket)));
    const extra = await openRaw(gate.socket);
    await new Promise((resolve) => extra.once('close', resolve));
    for (const socket of held) socket.destroy();
    await expect.poll(async () => (await ask(gate.socket).catch(() => undefined))?.status).toBe(200);
  });

  it('refuses a request above the limit of concurrent ones', async () => {
    const model = await modelServer([{ hang: true }, { say: 'hello' }]);
    const route: ModelRoute = { ...OPENAI, mode: 'live', baseUrl: model.url, providerKeys: [KEY], cassette: '' };
    const gate = await gateway({ model: route, limits: { requests: 1 } });
    const first = await openRaw(gate.socket);
    first.write(post(line));
    await expect.poll(() => model.requests.length).toBe(1);
    expect((await ask(gate.socket)).status).toBe(503);
    first.destroy();
    await expect.poll(async () => (await ask(gate.socket)).status).toBe(200);
  });

  it('limits the total bytes of bodies, and releases them', async () => {
    const { gate } = await open({ bodyBytes: 4096, allBodiesBytes: 4096 });
    const half = await openRaw(gate.socket);
    half.write(`${line}\r\n${HOST}\r\nContent-Length: 4000\r\n\r\n${'x'.repeat(3000)}`);
    const big = JSON.stringify({ model: 'm', input: 'x'.repeat(2000) });
    await expect.poll(async () => (await ask(gate.socket, { body: big })).status).toBe(503);
    half.destroy();
    await expect.poll(async () => (await ask(gate.socket, { body: big })).status).toBe(200);
  });
});
