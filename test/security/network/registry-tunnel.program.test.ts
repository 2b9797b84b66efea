import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { createServer as createTlsServer, request as httpsRequest } from 'node:https';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../../src/gateway/gateway.ts';
import { RegistryCache } from '../../../src/gateway/registry/registry-cache.ts';
import { openCredential } from '../../../src/gateway/registry/upstream-credentials.ts';
import { createCertificateAuthority } from '../../../src/lib/network/certificate-authority.ts';
import { connectTo } from '../../gateway/client.ts';
import { gateway, httpServer, listening } from '../../gateway/fixture.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import { tempDir } from '../../support/temp-dir.ts';

const NPM = `https://registry.${'npmjs.org'}`;

const halo = createCertificateAuthority('halo gateway');
const company = createCertificateAuthority('company');
const lookup = () => Promise.resolve(['127.0.0.1']);

async function sandbox(options: Partial<GatewayOptions>) {
  const gate = await gateway({ authority: halo, lookup, connections: { certificateAuthorities: company.certificate }, ...options }); // prettier-ignore
  /** A request as uv, yarn or cargo make it for a URL in a lockfile, with HTTPS_PROXY and the certificates of setup. */
  const get = async (url: string, method = 'GET', ca = halo.certificate) => {
    const { hostname, port, pathname, search } = new URL(url);
    const { status, socket } = await connectTo(gate.socket, `${hostname}:${port || 443}`);
    if (status !== 200) return [status, await text(socket)] as const;
    const tls = connectTls({ socket, servername: hostname, ca });
    return new Promise<readonly [number, string]>((resolve, reject) => {
      tls.on('error', reject);
      const asked = httpsRequest({ method, path: `${pathname}${search}`, host: hostname, createConnection: () => tls }); // prettier-ignore
      asked.on('error', reject);
      asked.on('response', (answer) => void text(answer).then((body) => resolve([answer.statusCode ?? 0, body])));
      asked.end();
    });
  };
  return { gate, get };
}

/** A server of TLS that requires a token, and what it was asked for. */
async function privateServer(host: string) {
  const asked: string[] = [];
  const server = createTlsServer(company.issue(host), (req, res) => {
    asked.push(`${req.method} ${req.url}`);
    if (req.headers.authorization !== 'Bearer secret') res.writeHead(401).end('a token is required');
    else res.end('PK wheel');
  });
  const authority = (await listening(server, () => server.closeAllConnections())).replace('127.0.0.1', host);
  return { asked, authority };
}

const credentialOf = (authority: string) => openCredential(authority, { scheme: 'bearer', user: '', token: 'secret' })!;
const WHEEL = 'a-1.0-py3-none-any.whl';

describe('a URL of a registry in a lockfile', () => {
  it('is read from the registry with its credential, and kept in the cache', async () => {
    const { authority, asked } = await privateServer('pypi.example');
    const route = { name: 'pypi' as const, upstream: `https://${authority}/simple`, hosts: [], named: true, credentials: [credentialOf(authority)] }; // prettier-ignore
    const cache = new RegistryCache(tempDir('halo-cache'));
    for (let nth = 0; nth < 2; nth++) {
      const { get, gate } = await sandbox({ registries: [route], archives: { cache, maxBytes: 1024 ** 2 } });
      expect(await get(`https://${authority}/files/${WHEEL}`)).toEqual([200, 'PK wheel']);
      await gate.close();
    }
    expect(asked).toEqual([`GET /files/${WHEEL}`]);
  });

  it.each([
    ['npm', 'https://registry.yarnpkg.com/left/-/left-1.0.0.tgz', '/base/left/-/left-1.0.0.tgz'],
    ['npm', `${NPM}/@a/left/-/left-1.0.0.tgz`, '/base/@a/left/-/left-1.0.0.tgz'],
    ['pypi', 'https://pypi.org/simple/left/', '/base/left/'],
    ['crates', 'https://index.crates.io/config.json', '/base/config.json'],
    ['go', 'https://proxy.golang.org/example.com/m/@v/list', '/base/example.com/m/@v/list'],
  ] as const)('a URL of the public %s is served by the upstream: %s', async (name, url, path) => {
    const host = await httpServer((req, res) => res.end(req.url));
    const { get } = await sandbox({ registries: [{ name, upstream: `http://${host}/base`, hosts: [], named: true }] });
    expect(await get(url)).toEqual([200, path]);
  });

  it('is served by the registry below whose path it is, if a host has several', async () => {
    const server = createTlsServer(company.issue('all.example'), (req, res) => res.end(req.url));
    const authority = (await listening(server, () => server.closeAllConnections())).replace('127.0.0.1', 'all.example');
    const routeOf = (name: 'npm' | 'pypi', path: string) => ({ name, upstream: `https://${authority}/${path}`, hosts: [], named: true }); // prettier-ignore
    const { get, gate } = await sandbox({ registries: [routeOf('npm', 'npm'), routeOf('pypi', 'pypi/simple')] });
    expect(await get(`https://${authority}/npm/left`)).toEqual([200, '/npm/left']);
    expect(await get(`https://${authority}/pypi/simple/left/`)).toEqual([200, '/pypi/simple/left/']);
    expect(gate.traffic().map(({ target }) => target)).toEqual(['npm:left', 'pypi:left']);
  });
});

/** The certificates and the proxy as setup has them, for a program on this machine. */
async function programEnv(socketPath: string) {
  const port = await listening(
    createServer((socket) => {
      const inner = connect(socketPath);
      socket.on('error', () => inner.destroy()).pipe(inner);
      inner.on('error', () => socket.destroy()).pipe(socket);
    }),
  );
  const home = tempDir();
  const ca = join(home, 'ca.pem');
  writeFileSync(ca, halo.certificate);
  const trust = { PIP_CERT: ca, SSL_CERT_FILE: ca, NODE_EXTRA_CA_CERTS: ca, CARGO_HTTP_CAINFO: ca };
  return { PATH: process.env['PATH'], HOME: home, HTTPS_PROXY: `http://${port}`, https_proxy: `http://${port}`, NO_PROXY: '127.0.0.1', ...trust }; // prettier-ignore
}

const withoutPip = () => spawnSync('pip', ['--version']).status !== 0 && 'needs pip';

describe('the real pip', skipFor(belowFull() || withoutPip()), () => {
  it('downloads a file that a requirement names by its URL, with a token that it does not have', async () => {
    const asked: (string | undefined)[] = [];
    const server = createTlsServer(company.issue('files.example'), (req, res) => {
      asked.push(req.headers.authorization);
      res.end(wheel());
    });
    const authority = (await listening(server, () => server.closeAllConnections())).replace(
      '127.0.0.1',
      'files.example',
    );
    const route = { name: 'pypi' as const, upstream: `https://${authority}/simple`, hosts: [], named: true, credentials: [credentialOf(authority)] }; // prettier-ignore
    const { gate } = await sandbox({ registries: [route] });
    const env = {
      ...(await programEnv(gate.socket)),
      PIP_CONFIG_FILE: '/dev/null',
      PIP_NO_CACHE_DIR: '1',
      PIP_RETRIES: '0',
    };
    const url = `https://${authority}/files/halo_test-1.0-py3-none-any.whl`;
    await promisify(execFile)(
      'pip',
      ['download', '-q', '--no-deps', '-d', join(env.HOME, 'to'), `halo-test @ ${url}`],
      { env },
    );
    expect(readdirSync(join(env.HOME, 'to'))).toEqual(['halo_test-1.0-py3-none-any.whl']);
    expect(new Set(asked)).toEqual(new Set(['Bearer secret']));
  });
});

/** A package of Python. */
function wheel(): Buffer {
  const script = [
    'import zipfile, sys, io',
    'b = io.BytesIO()',
    'z = zipfile.ZipFile(b, "w")',
    'z.writestr("halo_test.py", "")',
    'd = "halo_test-1.0.dist-info/"',
    'z.writestr(d + "METADATA", "Metadata-Version: 2.1\\nName: halo-test\\nVersion: 1.0\\n")',
    'z.writestr(d + "WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")',
    'z.writestr(d + "RECORD", "")',
    'z.close()',
    'sys.stdout.buffer.write(b.getvalue())',
  ];
  return execFileSync('python3', ['-c', script.join('\n')]);
}

describe('incident registry-tunnel: a tunnel to a registry', () => {
  it('passes only what the registry proxy passes', async () => {
    const { authority, asked } = await privateServer('npm.example');
    const route = { name: 'npm' as const, upstream: `https://${authority}/npm`, hosts: [], named: true, credentials: [credentialOf(authority)] }; // prettier-ignore
    const { get } = await sandbox({ registries: [route] });
    for (const [path, method] of [
      ['/npm/left', 'PUT'],
      ['/npm/left', 'DELETE'],
      ['/npm/-/user/org.couchdb.user:x', 'GET'],
      ['/npm/left?write=true', 'GET'],
      ['/admin', 'GET'],
      ['/~npm/other.example:443/left', 'GET'],
      ['/~git/npm.example/team/lib.git/info/refs?service=git-upload-pack', 'GET'],
      ['/v1/responses', 'POST'],
    ] as const) {
      const [status] = await get(`https://${authority}${path}`, method);
      expect([path, [400, 403, 405].includes(status)]).toEqual([path, true]);
    }
    expect(asked).toEqual([]);
  });

  it('exists for no other host, and not without registries', async () => {
    const route = { name: 'npm' as const, upstream: 'https://npm.example', hosts: [], named: true };
    const { get } = await sandbox({ registries: [route] });
    for (const url of [
      'https://evil.example/x',
      'https://npm.example:8443/x',
      'https://x.npm.example/x',
      'https://pypi.org/simple/x/',
    ])
      // prettier-ignore
      expect((await get(url))[0]).toBe(403);
    expect((await (await sandbox({})).get(`${NPM}/left`))[0]).toBe(403);
    const without = await gateway({ registries: [route] });
    const { status, socket } = await connectTo(without.socket, 'npm.example:443');
    socket.destroy();
    expect(status).toBe(403);
  });

  it('has a certificate that only the sandbox of this gateway trusts', async () => {
    const { get } = await sandbox({ registries: [{ name: 'npm', upstream: 'https://npm.example', hosts: [], named: true }] }); // prettier-ignore
    const other = createCertificateAuthority('halo gateway').certificate;
    await expect(get('https://npm.example/left', 'GET', other)).rejects.toThrow(/signature|certificate/i);
  });

  it('trusts no other certificate of the registry than the machine does', async () => {
    const server = createTlsServer(halo.issue('npm.example'), (_req, res) => res.end('stolen'));
    const authority = (await listening(server, () => server.closeAllConnections())).replace('127.0.0.1', 'npm.example');
    const { get } = await sandbox({ registries: [{ name: 'npm', upstream: `https://${authority}`, hosts: [], named: true }] }); // prettier-ignore
    const [status, body] = await get(`https://${authority}/left`);
    expect([status, body]).toEqual([502, expect.stringContaining('its certificate is not trusted')]);
  });
});
