import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { RegistryRoute } from '../../../src/gateway/registry/registries.ts';
import {
  authorizationFor,
  openCredential,
  type UpstreamCredential,
} from '../../../src/gateway/registry/upstream-credentials.ts';
import { ask } from '../client.ts';
import { gateway, httpServer } from '../fixture.ts';

/** A registry that needs no path to answer; `seen` has path and Authorization of each request. */
async function registry(redirects: Record<string, string> = {}) {
  const seen: [path: string, authorization: string | undefined][] = [];
  const host = await httpServer((req: IncomingMessage, res) => {
    const path = req.url ?? '';
    seen.push([path, req.headers.authorization]);
    const location = redirects[path];
    if (location === undefined) res.end('{}');
    else res.writeHead(302, { location }).end();
  });
  return { host, seen };
}

const credential = (address: string, token = 'secret', more = {}): UpstreamCredential =>
  openCredential(address, { scheme: 'bearer', user: '', token, ...more })!;

async function proxy(route: Omit<RegistryRoute, 'hosts' | 'named' | 'name'> & Partial<RegistryRoute>) {
  const { socket } = await gateway({ registries: [{ name: 'npm', hosts: [], named: true, ...route }] });
  return async (path: string, headers: Record<string, string> = {}) =>
    (await ask(socket, { method: 'GET', path, body: undefined, headers: { host: '127.0.0.1:4080', ...headers } }))
      .status;
}

describe('the credential of a registry', () => {
  it('is sent to its address and below it, in place of what the sandbox sends', async () => {
    const { host, seen } = await registry();
    const get = await proxy({ upstream: `http://${host}/npm`, credentials: [credential(`${host}/npm`)] });
    await get(`/~npm/${host}/npm/left`, { authorization: 'Bearer of-the-sandbox' });
    await get(`/~npm/${host}/npm/left/-/left-1.0.0.tgz`);
    await get(`/~npm/${host}/npmx/left/-/left-1.0.0.tgz`);
    await get(`/~npm/${host}/other/left/-/left-1.0.0.tgz`);
    expect(seen).toEqual([
      ['/npm/left', 'Bearer secret'],
      ['/npm/left/-/left-1.0.0.tgz', 'Bearer secret'],
      ['/npmx/left/-/left-1.0.0.tgz', undefined],
      ['/other/left/-/left-1.0.0.tgz', undefined],
    ]);
  });

  it('does not follow a redirect to another host or path', async () => {
    const other = await registry();
    const paths = { '/npm/a': `http://${other.host}/npm/a`, '/npm/b': '/files/b', '/npm/c': '/npm/d' };
    const { host, seen } = await registry(paths);
    const route = { upstream: `http://${host}/npm`, credentials: [credential(`${host}/npm`)] };
    const scopes = { '@other': `http://${other.host}` };
    const get = await proxy({ ...route, scopes });
    for (const name of ['a', 'b', 'c']) await get(`/~npm/${host}/npm/${name}`);
    expect(other.seen).toEqual([['/npm/a', undefined]]);
    expect(seen.filter(([path]) => !['/npm/a', '/npm/b', '/npm/c'].includes(path))).toEqual([
      ['/files/b', undefined],
      ['/npm/d', 'Bearer secret'],
    ]);
  });

  it.each([
    ['bearer', '', 'Bearer secret'],
    ['basic', 'bot', `Basic ${Buffer.from('bot:secret').toString('base64')}`],
    ['token', '', 'secret'],
  ] as const)('is sent as the scheme %s says', (scheme, user, authorization) => {
    expect(openCredential('npm.example.com', { scheme, user, token: 'secret' })).toEqual({
      authority: 'npm.example.com:443',
      path: '',
      authorization,
    });
  });

  it('is that with the longest path', () => {
    const credentials = [credential('h', 'all'), credential('h/a/b', 'inner'), credential('h/a', 'outer')];
    const at = (path: string) =>
      authorizationFor(credentials, { url: new URL(`https://h${path}`), authority: 'h:443' })?.split(' ')[1];
    expect(['/a/b/c', '/a/b', '/a/bc', '/a', '/ab', '/'].map(at)).toEqual([
      'inner',
      'inner',
      'outer',
      'outer',
      'all',
      'all',
    ]);
  });

  it('is not sent without encryption, except on this machine', () => {
    const at = (url: string, address: string) =>
      authorizationFor([credential(address)], { url: new URL(url), authority: address });
    expect(at('http://npm.example.com/x', 'npm.example.com:80')).toBeUndefined();
    expect(at('http://10.0.0.9/x', '10.0.0.9:80')).toBeUndefined();
    expect(at('https://npm.example.com/x', 'npm.example.com:443')).toBe('Bearer secret');
    expect(at('http://127.0.0.1:8081/x', '127.0.0.1:8081')).toBe('Bearer secret');
  });
});

describe('a scope of npm', () => {
  it('is served by its own registry, to which clients send no request of their own', async () => {
    const [main, acme] = [await registry(), await registry()];
    const get = await proxy({
      upstream: `http://${main.host}/public`,
      scopes: { '@acme': `http://${acme.host}/private` },
      credentials: [credential(acme.host)],
    });
    const base = `/~npm/${main.host}/public`;
    await get(`${base}/left`);
    await get(`${base}/@acme%2fwidget`);
    await get(`${base}/@acme/widget/-/widget-1.0.0.tgz`);
    await get('/private/@acme/widget/-/widget-1.0.0.tgz');
    await get('/download/@acme/widget/1.0.0/0123456789012345678901234567890123456789');
    await get(`${base}/@acmex/widget`);
    expect(acme.seen).toEqual([
      ['/private/@acme%2fwidget', 'Bearer secret'],
      ['/private/@acme/widget/-/widget-1.0.0.tgz', 'Bearer secret'],
      ['/private/@acme/widget/-/widget-1.0.0.tgz', 'Bearer secret'],
      ['/private/download/@acme/widget/1.0.0/0123456789012345678901234567890123456789', 'Bearer secret'],
    ]);
    expect(main.seen).toEqual([
      ['/public/left', undefined],
      ['/public/@acmex/widget', undefined],
    ]);
  });
});

describe('a private registry', () => {
  const basic = { scheme: 'basic', user: 'halo' } as const;

  it.each([
    ['pypi', '/simple/', basic, ['simple/acme-lib/', 'files/acme_lib-1.0-py3-none-any.whl']],
    ['crates', '/', { scheme: 'token' }, ['config.json', 'ac/me/acme', 'crates/acme/1.0.0/download']],
    ['go', '/', basic, ['example.com/m/@v/list', 'example.com/m/@v/v1.0.0.zip']],
    ['debian', '/', basic, ['debian/dists/stable/InRelease', 'debian/pool/main/a/acme/acme_1_all.deb']],
  ] as const)('a private registry of %s is read with its token alone', async (name, base, how, paths) => {
    const wanted = openCredential('x', { user: '', token: 'secret', ...how })!.authorization;
    const host = await httpServer((req, res) => {
      if (req.headers.authorization !== wanted) res.writeHead(401, { 'www-authenticate': 'Basic' }).end();
      else res.end(`content of ${req.url}`);
    });
    const route = { name, upstream: `http://${host}${base}`, hosts: [], named: true };
    const at = async (credentials: UpstreamCredential[], path: string) => {
      const { socket } = await gateway({ registries: [{ ...route, credentials }] });
      return ask(socket, {
        method: 'GET',
        path,
        body: undefined,
        headers: { host: '127.0.0.1:4080', authorization: wanted },
      });
    };
    for (const path of paths) {
      const known = await at([credential(host, 'secret', how)], `/~${name}/${host}/${path}`);
      expect([known.status, known.body]).toEqual([200, `content of /${path}`]);
      const unknown = await at([credential('other.example', 'secret', how)], `/~${name}/${host}/${path}`);
      expect([unknown.status, unknown.headers['www-authenticate']]).toEqual([401, undefined]);
    }
    if (name === 'debian') {
      const apt = await at([credential(host, 'secret', how)], 'http://deb.example/debian/dists/stable/InRelease');
      expect(apt.body).toBe('content of /debian/dists/stable/InRelease');
    }
  });

  it.each(['"auth-required":true', '"auth-required": true'])(
    'the configuration of cargo demands no token of the sandbox: %s',
    async (text) => {
      const host = await httpServer((_req, res) => res.end(`{"dl": "https://x.example/crates", ${text}}`));
      const { socket } = await gateway({
        registries: [{ name: 'crates', upstream: `http://${host}`, hosts: [], named: true }],
      });
      const { body } = await ask(socket, { method: 'GET', path: `/~crates/${host}/config.json`, body: undefined });
      expect(JSON.parse(body)).toEqual({ dl: 'https://x.example/crates', 'auth-required': false });
    },
  );
});
