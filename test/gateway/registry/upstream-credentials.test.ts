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
    const at = (path: string) => authorizationFor(credentials, new URL(`https://h${path}`))?.split(' ')[1];
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
    const at = (url: string, address: string) => authorizationFor([credential(address)], new URL(url));
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

const HASH = '0123456789'.repeat(4);

describe('an archive that a lockfile names by URL', () => {
  /** Requests an archive as npm 10 does: the path of its URL, whatever the server, after that of the registry. */
  const install = async (upstream: string, scopes: Record<string, string>, resolved: string) => {
    const get = await proxy({ upstream, scopes });
    const { host, pathname } = new URL(upstream);
    return get(`/~npm/${host}${pathname.replace(/\/$/, '')}${new URL(resolved).pathname}`);
  };

  it.each([
    ['', '', 'https://public.example/left/-/left-1.0.0.tgz', '/left/-/left-1.0.0.tgz'],
    ['/npm', '', 'https://public.example/left/-/left-1.0.0.tgz', '/npm/left/-/left-1.0.0.tgz'],
    ['/npm', '', 'https://own.example/npm/left/-/left-1.0.0.tgz', '/npm/left/-/left-1.0.0.tgz'],
    ['', '', 'https://art.example/artifactory/api/npm/x/left/-/left-1.0.0.tgz', '/left/-/left-1.0.0.tgz'],
    ['/npm', '', 'https://nexus.example/repository/x/left/-/left-1.0.0%2bb.tgz', '/npm/left/-/left-1.0.0%2bb.tgz'],
    ['/npm', '', 'https://nexus.example/repository/x/@b/c/-/c-1.0.0.tgz', '/npm/@b/c/-/c-1.0.0.tgz'],
    ['/npm', '', 'https://nexus.example/repository/x/@b%2fc/-/c-1.0.0.tgz', '/npm/@b%2fc/-/c-1.0.0.tgz'],
    ['/npm', '', 'https://nexus.example/repository/x/%40b/c/-/c-1.0.0.tgz', '/npm/%40b/c/-/c-1.0.0.tgz'],
    ['/npm', '', 'https://art.example/api/npm/x/@b/c/-/@b/c-1.0.0.tgz', '/npm/@b/c/-/@b/c-1.0.0.tgz'],
    ['/npm', '/npm', 'https://own.example/npm/@acme/w/-/w-1.0.0.tgz', 'scope: /npm/@acme/w/-/w-1.0.0.tgz'],
    ['/npm/group', '/npm', 'https://x.example/npm/group/@acme/w/-/w-1.0.0.tgz', 'scope: /npm/@acme/w/-/w-1.0.0.tgz'],
    ['/npm', '/npm/own', 'https://x.example/npm/own/@acme/w/-/w-1.0.0.tgz', 'scope: /npm/own/@acme/w/-/w-1.0.0.tgz'],
    ['/npm', '/own', 'https://x.example/own/@acme/w/-/w-1.0.0.tgz', 'scope: /own/@acme/w/-/w-1.0.0.tgz'],
    ['/npm', '/own', 'https://public.example/@acme/w/-/w-1.0.0.tgz', 'scope: /own/@acme/w/-/w-1.0.0.tgz'],
    ['/npm', '/own', 'https://art.example/api/npm/x/%40acme/w/-/w-1.0.0.tgz', 'scope: /own/%40acme/w/-/w-1.0.0.tgz'],
    ['/npm', '', `https://npm.pkg.github.com/download/@acme/w/1.0.0/${HASH}`, `scope: /download/@acme/w/1.0.0/${HASH}`],
    ...['/api/v4/packages/npm', '/api/v4/groups/7/-/packages/npm'].map((base) => [
      '/npm',
      base,
      'https://gitlab.example/api/v4/projects/9/packages/npm/@acme/w/-/@acme/w-1.0.0.tgz',
      'scope: /api/v4/projects/9/packages/npm/@acme/w/-/@acme/w-1.0.0.tgz',
    ]),
  ] as [string, string, string, string][])(
    'is read from the registry at "%s", or from that of its scope at "%s": %s',
    async (base, scopeBase, resolved, expected) => {
      const [main, acme] = [await registry(), await registry()];
      const scopes = { '@acme': `http://${acme.host}${scopeBase}` };
      expect(await install(`http://${main.host}${base}`, scopes, resolved)).toBe(200);
      expect([...main.seen.map(([path]) => path), ...acme.seen.map(([path]) => `scope: ${path}`)]).toEqual([expected]);
    },
  );

  it('is read from the scope’s path of the same server', async () => {
    const { host, seen } = await registry();
    const at = `http://${host}/repository`;
    const scopes = { '@acme': `${at}/npm-private` };
    expect(await install(`${at}/npm-group`, scopes, `${at}/npm-private/@acme/w/-/w-1.0.0.tgz`)).toBe(200);
    expect(await install(`${at}/npm-group`, scopes, `${at}/npm-group/@acme/w/-/w-1.0.0.tgz`)).toBe(200);
    expect(seen.map(([path]) => path)).toEqual(Array(2).fill('/repository/npm-private/@acme/w/-/w-1.0.0.tgz'));
  });

  it('is read from the same place if npm requests its path alone', async () => {
    const [main, acme] = [await registry(), await registry()];
    const get = await proxy({ upstream: `http://${main.host}/npm`, scopes: { '@acme': `http://${acme.host}/own` } });
    await get('/npm/left/-/left-1.0.0.tgz');
    await get('/repository/x/left/-/left-1.0.0.tgz');
    await get('/own/@acme/w/-/w-1.0.0.tgz');
    await get('/api/npm/x/@acme/w/-/@acme/w-1.0.0.tgz');
    expect(main.seen.map(([path]) => path)).toEqual(Array(2).fill('/npm/left/-/left-1.0.0.tgz'));
    expect(acme.seen.map(([path]) => path)).toEqual(['/own/@acme/w/-/w-1.0.0.tgz', '/own/@acme/w/-/@acme/w-1.0.0.tgz']);
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
