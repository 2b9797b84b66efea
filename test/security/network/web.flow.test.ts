import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';

/** A web page in the operator's browser, or another user of the machine, against `halo serve` on loopback. */

let home: HaloHome;
let port = 0;
let token = '';

beforeAll(async () => {
  home = openHome();
  const server = home.start(['serve', '--listen', '127.0.0.1:0'], { cwd: home.dir });
  await server.says('http://127.0.0.1:');
  port = Number(/127\.0\.0\.1:(\d+)/.exec(server.stdout() + server.stderr())?.[1]);
  token = readFileSync(join(home.dir, 'api-token'), 'utf8').trim();
});
afterAll(() => home.close());

interface Ask {
  method?: string;
  path?: string;
  headers?: Record<string, string>;
  body?: string;
}

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

function ask({ method = 'GET', path = '/v1/runs', headers = {}, body }: Ask): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const { statusCode = 0, headers: given } = response;
        resolve({ status: statusCode, headers: given, body: Buffer.concat(chunks).toString() });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const bearer = () => ({ authorization: `Bearer ${token}` });

describe('attack 34, incident open-api: access to the port of halo', () => {
  it('succeeds with the token, as a control', async () => {
    expect(await ask({ headers: bearer() })).toMatchObject({
      status: 200,
      body: '{"runs":[],"omitted":{"open":0,"ended":0}}',
    });
  });

  it.each([
    ['no token', () => ({}), 401],
    ['a wrong one', () => ({ authorization: `Bearer ${token.replace(/^./, 'x')}` }), 401],
    ['the token in a cookie', () => ({ cookie: `token=${token}; authorization=Bearer ${token}` }), 401],
    ['the token as a password', () => ({ authorization: `Basic ${Buffer.from(`:${token}`).toString('base64')}` }), 401],
    ['a name of its own for this address', () => ({ ...bearer(), host: 'evil.example' }), 403],
    ['a name that begins like ours', () => ({ ...bearer(), host: `127.0.0.1.evil.example:${port}` }), 403],
    ['a page elsewhere', () => ({ ...bearer(), origin: 'https://evil.example' }), 403],
    ['a page without an origin', () => ({ ...bearer(), origin: 'null' }), 403],
    ['a page on another port of this machine', () => ({ ...bearer(), origin: 'http://127.0.0.1:1' }), 403],
  ])('is refused with %s, on every route, without information', async (_what, headers, status) => {
    const paths = ['/v1/runs', `/v1/runs/abcdefgh/events?follow=true`, '/v1/runs/abcdefgh/raw', '/metrics'];
    for (const path of paths)
      expect(await ask({ path, headers: headers() })).toMatchObject({
        status,
        body: expect.stringContaining('API_REFUSED') as string,
      });
    // Without a session, the page of the server leads to the sign-in.
    expect((await ask({ path: '/', headers: headers() })).status).toBe(status === 401 ? 303 : 403);
  });

  it('cannot put the token into the address', async () => {
    expect(await ask({ path: `/v1/runs?token=${token}&authorization=Bearer%20${token}` })).toMatchObject({
      status: 401,
    });
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
    'cannot submit with a form of %s, the types that a page may send without a preflight',
    async (type) => {
      const body = JSON.stringify({ prd: { path: 'prd.json', content: '' }, repos: ['/'], set: [], allowDirty: false });
      const answer = await ask({ method: 'POST', headers: { ...bearer(), 'content-type': type }, body });
      expect(answer).toMatchObject({ status: 400, body: expect.stringContaining('USAGE') as string });
    },
  );

  it('has no CORS permission for other origins, and serves no page', async () => {
    const preflight = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
    const answers = [await ask({ method: 'OPTIONS', headers: preflight }), await ask({ headers: bearer() })];
    for (const { headers } of answers) {
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
      expect(headers).toMatchObject({
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
      });
    }
  });
});

describe('attack 37: an id in the URL with parent folders', () => {
  it.each(['..%2f..%2fid', '%2e%2e', 'abc%00defgh', 'a'.repeat(300), 'CON', '..', '.lock'])(
    '%s selects no run',
    async (id) => {
      for (const path of [`/v1/runs/${id}`, `/v1/runs/${id}/events`, `/v1/runs/${id}/diff`]) {
        const { status, body } = await ask({ path, headers: bearer() });
        expect([400, 404, 414]).toContain(status);
        expect(body).not.toContain(home.dir);
      }
    },
  );
});
