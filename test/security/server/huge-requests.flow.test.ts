import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openHttp } from '../../../src/api/http/http-client.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';

/** Requests to a real `halo serve` that are much larger than any that it needs. */

const MIB = 1024 * 1024;

let home: HaloHome;
let url = '';
let pid = 0;
let token = '';

beforeAll(async () => {
  home = openHome();
  const server = home.start(['serve', '--listen', '127.0.0.1:0'], { cwd: home.dir });
  await server.says('token ');
  pid = server.process.pid!;
  url = /api +(\S+)/.exec(server.stdout())?.[1] ?? '';
  token = readFileSync(join(home.dir, 'api-token'), 'utf8').trim();
});
afterAll(() => home.close());
afterEach(async () => {
  expect((await openHttp({ url, token }).listRuns()).runs).toEqual([]);
});

const memory = () => 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

interface Sent {
  /** The status, or undefined if the connection was closed before. */
  status: number | undefined;
  bytes: number;
}

/** Sends `head`, then chunks until the server answers or closes, up to 64 MiB. */
function flood(head: string, chunk: string): Promise<Sent> {
  return new Promise((resolve) => {
    const client = connect(Number(new URL(url).port), '127.0.0.1');
    let text = '';
    let isClosed = false;
    const send = () => {
      while (!isClosed && text === '' && client.bytesWritten < 64 * MIB) if (!client.write(chunk)) return;
    };
    client.on('error', () => undefined).on('drain', send);
    client.on('data', (bytes: Buffer) => {
      text += bytes.toString();
      client.destroy();
    });
    client.on('close', () => {
      isClosed = true;
      const status = /^HTTP\/1\.1 (\d+)/.exec(text)?.[1];
      resolve({ status: status === undefined ? undefined : Number(status), bytes: client.bytesWritten });
    });
    client.write(head);
    send();
  });
}

const POST = (credential = token) =>
  `POST /v1/runs HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${credential}\r\ncontent-type: application/json\r\n`;
const submitWith = (options: object) =>
  JSON.stringify({ prd: { path: 'prd.json', content: '' }, repos: ['/none'], allowDirty: true, ...options });
const CHUNK = 'x'.repeat(64 * 1024);

describe('incident huge-request: a request that is larger than the memory of the server', () => {
  it.each([
    ['a length of 100 GB', () => POST() + 'content-length: 100000000000\r\n\r\n', CHUNK, [400]],
    ['chunks without end', () => POST() + 'transfer-encoding: chunked\r\n\r\n', `10000\r\n${CHUNK}\r\n`, [400]],
    [
      'chunks, but no valid token',
      () => POST('x') + 'transfer-encoding: chunked\r\n\r\n',
      `10000\r\n${CHUNK}\r\n`,
      [401],
    ],
    ['a chunk extension without end', () => POST() + 'transfer-encoding: chunked\r\n\r\n1;x=', CHUNK, [400, 413]],
    ['headers without end', () => POST(), `x-more: ${CHUNK}\r\n`, [431]],
    ['an address without end', () => 'GET /v1/runs/', CHUNK, [431, 414]],
  ])('is refused with %s, and read no further', async (_what, head, chunk, statuses) => {
    const before = memory();
    const { status, bytes } = await flood(head(), chunk);
    if (status !== undefined) expect(statuses).toContain(status);
    expect(bytes).toBeLessThan(32 * MIB);
    expect(memory() - before).toBeLessThan(100 * MIB);
  });

  const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
    fetch(`${url}/v1/runs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body,
    });

  it.each([
    ['levels', () => '['.repeat(2 * MIB) + ']'.repeat(2 * MIB)],
    ['values', () => `[${'0,'.repeat(3 * MIB)}0]`],
    ['keys that JSON.parse would give to every object', () => '{"__proto__":{"kind":"owner"}}'],
    ['settings', () => submitWith({ set: Array.from({ length: 90_000 }, () => 'limits.wall=1m') })],
    ['runs to wait for', () => submitWith({ set: [], after: Array.from({ length: 90_000 }, () => 'abc') })],
    ['keys that no operation has', () => `{${Array.from({ length: 90_000 }, (_, index) => `"k${index}":0`).join()}}`],
  ])('is refused with %s, with a short answer', async (_what, body) => {
    const before = memory();
    const answer = await post(body());
    expect([answer.status, (await answer.text()).length]).toEqual([400, expect.toSatisfy((n: number) => n < 4_000)]);
    expect(memory() - before).toBeLessThan(200 * MIB);
  });

  it('is refused as the input of an MCP tool, with a short answer', async () => {
    const keys = Object.fromEntries(Array.from({ length: 90_000 }, (_, index) => [`k${index}`, 0]));
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'halo_runs', arguments: keys } };
    const answer = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(call),
    });
    const text = await answer.text();
    expect(text).toContain('nrecognized');
    expect(text.length).toBeLessThan(4_000);
  });

  it('is not decompressed', async () => {
    const before = memory();
    const answer = await post(new Uint8Array(gzipSync(Buffer.alloc(256 * MIB, ' '))), { 'content-encoding': 'gzip' });
    expect(answer.status).toBe(400);
    expect(memory() - before).toBeLessThan(100 * MIB);
  });
});
