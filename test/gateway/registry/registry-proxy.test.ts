import { createServer as createTlsServer } from 'node:https';
import { describe, expect, it } from 'vitest';
import type { RegistryName } from '../../../src/core/journal/egress-events.ts';
import type { GatewayOptions } from '../../../src/gateway/gateway.ts';
import { ask, connectTo } from '../client.ts';
import { gateway, httpServer, listening, localhost } from '../fixture.ts';
import { mirror, routeTo, upstream } from './mirror-fixture.ts';

describe('the mirror of a registry', () => {
  it('sends only the path and the media type', async () => {
    const { host, asked } = await upstream({ '/is-number': '{}' });
    const { get } = await mirror(routeTo('npm', `http://${host}`));
    const headers = {
      accept: 'application/vnd.npm.install-v1+json',
      authorization: 'Bearer secret',
      cookie: 'a=b',
      'npm-command': 'carried out',
      referer: 'carried out',
      'if-none-match': 'x'.repeat(300),
    };
    expect((await get(`/~npm/${host}/is-number`, headers)).body).toBe('{}');
    expect(asked[0]?.headers).toEqual({
      accept: 'application/vnd.npm.install-v1+json',
      'accept-encoding': 'identity',
      'user-agent': 'halo',
      host,
      connection: 'keep-alive',
    });
  });

  it.each([
    ['what npm says', 'application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*', undefined],
    [
      'what pip says',
      'application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html; q=0.1, text/html; q=0.01',
      undefined,
    ],
    ['any text', 'secret/one, application/json;secret=two', 'application/json'],
    ['only text', 'secret', '*/*'],
  ])('sends the media type in its own words: %s', async (_what, accept, sent) => {
    const { host, asked } = await upstream({ '/is-number': '{}' });
    const { get } = await mirror(routeTo('npm', `http://${host}`));
    await get(`/~npm/${host}/is-number`, { accept });
    const types = (text: string | undefined) => text?.replace(/;[^,]*/g, '');
    expect(types(asked[0]?.headers.accept)).toBe(sent ?? types(accept));
    expect(asked[0]?.headers.accept).not.toContain('secret');
  });

  it('sends no condition, and only numbers of a range', async () => {
    const { host, asked } = await upstream({ '/a/-/a-1.0.0.tgz': 'x' });
    const { get } = await mirror(routeTo('npm', `http://${host}`));
    const path = `/~npm/${host}/a/-/a-1.0.0.tgz`;
    const none = { 'if-none-match': '"secret"', 'if-modified-since': 'secret' };
    await get(path, { ...none, range: 'bytes=0-99' });
    await get(path, { ...none, range: 'bytes=-500' });
    await get(path, { 'if-range': '"secret"', range: 'bytes=0-99' });
    await get(path, { range: 'bytes=0-1,2-3' });
    await get(path, { range: 'secret=0-1' });
    expect(asked.map(({ headers }) => headers.range)).toEqual([
      'bytes=0-99',
      'bytes=-500',
      undefined,
      undefined,
      undefined,
    ]);
    expect(JSON.stringify(asked.map(({ headers }) => headers))).not.toContain('secret');
  });

  it('answers 405 to all but read requests, and forwards none of them', async () => {
    const { host, asked } = await upstream({});
    const gate = await mirror(routeTo('npm', `http://${host}`));
    for (const method of ['PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE']) {
      const body = method === 'TRACE' ? undefined : 'package';
      const answer = await ask(gate.socket, { method, path: `/~npm/${host}/is-number`, body });
      expect([method, answer.status]).toEqual([method, 405]);
      expect(answer.body).toContain('registries are read-only');
    }
    const withBody = await ask(gate.socket, {
      method: 'GET',
      path: `/~npm/${host}/is-number`,
      body: 'carried out',
      headers: { 'content-length': '11' },
    });
    expect([withBody.status, asked.length]).toEqual([400, 0]);
    expect(gate.traffic().map(({ outcome }) => outcome)).not.toContain('served');
  });

  it.each<[RegistryName, string]>([
    ['npm', '/is-number?write=true'],
    ['npm', '/-/v1/search'],
    ['npm', '/-/user/org.couchdb.user:x'],
    ['npm', '/a/../b'],
    ['npm', '/a%2f..%2fb'],
    ['npm', '/%00'],
    ['npm', `/${'x'.repeat(600)}`],
    ['npm', '/a//b'],
    ['npm', '/a\\b'],
    ['pypi', '/'],
    ['pypi', '/requests/json/x'],
    ['crates', '/api/v1/crates'],
    ['go', '/golang.org/x/text'],
    ['debian', '/debian/project/trace/master'],
  ])('serves nothing of %s at %s', async (name, path) => {
    const { host, asked } = await upstream({});
    const { get } = await mirror(routeTo(name, `http://${host}`));
    const answer = await get(`/~${name}/${host}${path}`);
    expect([answer.status, asked.length]).toEqual([403, 0]);
    expect(answer.body).toContain(`it is not an item of the registry ${name}`);
  });

  it.each<[RegistryName, string]>([
    ['pypi', '/files/torch-2.0.1%2Bcu118-cp311-cp311-linux_x86_64.whl'],
    ['npm', '/a/-/a-1.0.0%2bbuild.tgz'],
    ['crates', '/crates/wasi/0.11.0%2Bwasi-snapshot-preview1/download'],
  ])('serves a version of %s with an encoded plus sign as it is asked for: %s', async (name, path) => {
    const { host, asked } = await upstream({ [path]: 'archive' });
    const { get } = await mirror(routeTo(name, `http://${host}`));
    expect((await get(`/~${name}/${host}${path}`)).body).toBe('archive');
    expect(asked.map(({ url }) => url)).toEqual([path]);
  });

  it.each(['/-/npm/v1/attestations/is-number@7.0.0', '/-/npm/v1/attestations/@logux/core@0.10.0'])(
    'serves who has built a package of npm: %s',
    async (path) => {
      const { host, asked } = await upstream({ [path]: '{"attestations":[]}' });
      const { get } = await mirror(routeTo('npm', `http://${host}`));
      expect((await get(`/~npm/${host}${path}`)).body).toBe('{"attestations":[]}');
      expect(asked.map(({ url }) => url)).toEqual([path]);
    },
  );

  it('serves only allowed registries and their own hosts', async () => {
    const { host, asked } = await upstream({});
    const { get } = await mirror(routeTo('npm', `http://${host}`));
    expect((await get(`/~pypi/${host}/requests/`)).body).toContain('add it to [network] registries');
    expect((await get('/~npm/evil.example:443/x')).body).toContain('add it to [network] registry_hosts');
    expect((await get('/~npm/x%00.example:443/x')).status).toBe(403);
    const none = await gateway({});
    expect((await ask(none.socket, { method: 'GET', path: `/~npm/${host}/x`, body: undefined })).status).toBe(403);
    expect(asked).toEqual([]);
  });

  it('rewrites links to itself, at any chunk border, but not for npm’s own client', async () => {
    const host: string = await httpServer((_req, res) => {
      const text = JSON.stringify({ a: `http://${host}/x/-/x-1.0.0.tgz`, b: 'http://elsewhere.example/y' });
      for (const character of text) res.write(character);
      res.end();
    });
    const { get } = await mirror(routeTo('npm', `http://${host}`));
    const { body } = await get(`/~npm/${host}/x`, { 'user-agent': 'pnpm/10.0.0 npm/? node/v22' });
    expect(JSON.parse(body)).toEqual({
      a: `http://127.0.0.1:4080/~npm/${host}/x/-/x-1.0.0.tgz`,
      b: 'http://elsewhere.example/y',
    });
    const forNpm = await get(`/~npm/${host}/x`, { 'user-agent': 'npm/10.9.0 node/v22' });
    expect(forNpm.body).toContain(`"http://${host}/x/-/x-1.0.0.tgz"`);
    // That is where npm then looks for it.
    expect((await get('/x/-/x-1.0.0.tgz')).status).toBe(200);
  });

  it('follows redirects only to its own hosts', async () => {
    const inner = await upstream({ '/crates/a/a-1.0.0.crate': 'archive' });
    const leading = async (location: string) => {
      const host = await httpServer((req, res) => {
        if (req.url === '/crates/a/1.0.0/download') res.writeHead(302, { location }).end();
        else res.end('archive');
      });
      const gate = await mirror(routeTo('crates', `http://${host}`));
      return gate.get(`/~crates/${host}/crates/a/1.0.0/download`);
    };
    expect((await leading('/elsewhere')).body).toBe('archive');
    const outside = await leading(`http://${inner.host}/crates/a/a-1.0.0.crate`);
    expect([outside.status, outside.body]).toEqual([
      502,
      `network: the registry crates redirects to ${inner.host}, which is not one of its hosts; see [network] registry_hosts\n`,
    ]);
    expect((await leading('http://169.254.169.254/latest')).status).toBe(502);
    expect((await leading('/crates/a/1.0.0/download')).body).toContain('redirects too often or to an invalid URL');
    expect(inner.asked).toEqual([]);
  });

  it('reaches no internal address: neither by the name of a public upstream nor by its other hosts', async () => {
    const { host, asked } = await upstream({ '/simple/a/': 'inside' });
    const port = host.split(':')[1]!;
    const lookup = () => Promise.resolve(['127.0.0.1']);
    const base = { upstream: `http://packages.example:${port}/simple`, hosts: ['files.example:443'] };
    const foreign = await mirror({ name: 'pypi', ...base, named: false }, { lookup });
    const refused = await foreign.get(`/~pypi/packages.example:${port}/simple/a/`);
    expect([refused.status, refused.body]).toEqual([502, expect.stringContaining('is not a public address')]);
    expect(asked).toEqual([]);
    const named = await mirror({ name: 'pypi', ...base, named: true }, { lookup });
    expect((await named.get(`/~pypi/packages.example:${port}/simple/a/`)).body).toBe('inside');
    const file = await named.get('/~pypi/files.example:443/a-1.0.tar.gz');
    expect([file.status, file.body]).toEqual([502, expect.stringContaining('is not a public address')]);
  });

  it('trusts only the given certificate authorities', async () => {
    const server = createTlsServer(localhost, (_req, res) => res.end('trusted'));
    const host = (await listening(server, () => server.closeAllConnections())).replace('127.0.0.1', 'localhost');
    const body = async (options: Partial<GatewayOptions>) =>
      (await (await mirror(routeTo('go', `https://${host}`), options)).get(`/~go/${host}/example.com/m/@v/list`)).body;
    expect(await body({ connections: { certificateAuthorities: localhost.cert.toString() } })).toBe('trusted');
    expect(await body({})).toContain('its certificate is not trusted');
  });

  it('aborts an endless answer', async () => {
    const host = await httpServer((_req, res) => res.end('x'.repeat(5000)));
    const gate = await mirror(routeTo('go', `http://${host}`), { limits: { responseBytes: 1000 } });
    await expect(gate.get(`/~go/${host}/example.com/m/@v/v1.zip`)).rejects.toThrow('socket hang up');
  });

  it('serves apt for any server in its sources, and only files of an archive', async () => {
    const { host, asked } = await upstream({ '/mirror/debian/dists/stable/InRelease': 'signed' });
    const { get } = await mirror(routeTo('debian', `http://${host}/mirror`));
    expect((await get('http://deb.example/debian/dists/stable/InRelease')).body).toBe('signed');
    expect((await get('http://evil.example/x/dists/../../secret')).status).toBe(403);
    expect((await get('http://evil.example/upload')).body).toContain('evil.example:80 refused; add it');
    expect(asked.map(({ url, headers }) => [url, headers.host])).toEqual([
      ['/mirror/debian/dists/stable/InRelease', host],
    ]);
  });

  it('records each package once in the journal, with its outcome', async () => {
    const { host } = await upstream({ '/a': '12345', '/a/-/a-1.0.0.tgz': '1234567' });
    const gate = await mirror(routeTo('npm', `http://${host}`));
    for (const path of ['a', 'a/-/a-1.0.0.tgz', 'a']) await gate.get(`/~npm/${host}/${path}`);
    await ask(gate.socket, { method: 'PUT', path: `/~npm/${host}/a`, body: 'x' });
    await connectTo(gate.socket, 'other.example:443');
    expect(gate.traffic()).toMatchObject([
      { route: 'registry', method: 'GET', target: 'npm:a', outcome: 'served', status: 200, bytes: 17, count: 3 },
      { route: 'registry', method: 'PUT', target: 'npm:a', outcome: 'refused', status: 405, bytes: 0, count: 1 },
      { route: 'tunnel', method: 'CONNECT', target: 'other.example:443', outcome: 'refused', status: 403, count: 1 },
    ]);
  });

  it('limits the entries of a sandbox in the journal', async () => {
    const { host } = await upstream({});
    const gate = await mirror(routeTo('npm', `http://${host}`));
    await Promise.all(
      Array.from({ length: 400 }, (_, index) =>
        ask(gate.socket, { method: 'GET', path: `/~npm/${host}/a?${index}${'x'.repeat(1000)}`, body: undefined }),
      ),
    );
    const rows = gate.traffic();
    expect(rows.length).toBeLessThanOrEqual(202);
    expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(400);
    expect(Math.max(...rows.map(({ target }) => target.length))).toBeLessThanOrEqual(200);
  });
});
