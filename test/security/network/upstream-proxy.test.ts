import { createServer as createTlsServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { readProxies } from '../../../src/config/environment/host.ts';
import { openForge } from '../../../src/forge/open-forge.ts';
import type { GatewayOptions } from '../../../src/gateway/gateway.ts';
import { createCertificateAuthority } from '../../../src/lib/network/certificate-authority.ts';
import { openConnections } from '../../../src/lib/network/connections.ts';
import { startConnectProxy, type ConnectProxy, type ConnectProxyOptions } from '../../support/connect-proxy.ts';
import { ask, connectTo } from '../../gateway/client.ts';
import { gateway, httpServer, listening, localhost, OPENAI } from '../../gateway/fixture.ts';

const authority = createCertificateAuthority('company');
const proxies: ConnectProxy[] = [];
afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.close();
});

async function proxyOf(options: ConnectProxyOptions = {}) {
  const proxy = await startConnectProxy(options);
  proxies.push(proxy);
  return proxy;
}

/** No name resolves on this machine: only the proxy knows where a host is. */
const lookup = () => Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }));

function behind(proxy: { url: string }, more: Partial<GatewayOptions> = {}, noProxy = '') {
  const env = { HTTPS_PROXY: proxy.url, HTTP_PROXY: proxy.url, NO_PROXY: noProxy };
  const certificateAuthorities = `${authority.certificate}${localhost.cert.toString()}`;
  return gateway({ lookup, connections: { proxies: readProxies(env), certificateAuthorities }, ...more });
}

/** A server of TLS, by a name that only the proxy resolves; gives `host:port`. */
async function secureServer(host: string, body: string) {
  const server = createTlsServer(authority.issue(host), (req, res) => {
    req.resume().on('end', () => res.setHeader('content-type', 'application/json').end(body));
  });
  return (await listening(server, () => server.closeAllConnections())).replace('127.0.0.1', host);
}

const ANSWER = JSON.stringify({ output: [], usage: { input_tokens: 1, output_tokens: 1 } });
const get = (path: string) => ({ method: 'GET', path, body: undefined, headers: { host: '127.0.0.1:4080' } });
const modelAt = (host: string) => ({
  ...OPENAI,
  mode: 'live' as const,
  baseUrl: `https://${host}/v1`,
  providerKeys: ['sk-x'],
  cassette: '',
});
const npmAt = (upstream: string) => [{ name: 'npm' as const, upstream, hosts: [], named: true }];

describe('behind a proxy of HTTP', () => {
  it('a model is reached with CONNECT, and trusted through the certificate authorities of the machine', async () => {
    const [proxy, host] = [await proxyOf(), await secureServer('model.example', ANSWER)];
    const gate = await behind(proxy, { model: modelAt(host) });
    expect((await ask(gate.socket, { body: { model: 'm', input: [] } })).body).toBe(ANSWER);
    expect(proxy.asked).toEqual([`CONNECT ${host}`]);
    const untrusted = await gateway({ connections: { proxies: readProxies({ HTTPS_PROXY: proxy.url }) }, model: modelAt(host) }); // prettier-ignore
    expect((await ask(untrusted.socket, { body: { model: 'm', input: [] } })).body).toContain('its certificate is not trusted'); // prettier-ignore
  });

  it('a registry and its hosts are reached, with and without TLS', async () => {
    const proxy = await proxyOf();
    const secure = await secureServer('npm.example', '{"secure": true}');
    const gate = await behind(proxy, { registries: npmAt(`https://${secure}`) });
    expect((await ask(gate.socket, get(`/~npm/${secure}/left`))).body).toBe('{"secure": true}');
    const plain = (await httpServer((req, res) => res.end(`"${req.headers.host} ${req.url}"`))).replace('127.0.0.1', 'npm.example'); // prettier-ignore
    const other = await behind(proxy, { registries: npmAt(`http://${plain}`) });
    expect((await ask(other.socket, get(`/~npm/${plain}/left`))).body).toBe(`"${plain} /left"`);
    expect(proxy.asked).toEqual([`CONNECT ${secure}`, `GET http://${plain}/left`]);
  });

  it('an allowed host is reached through a tunnel in the tunnel', async () => {
    const [proxy, host] = [await proxyOf(), await secureServer('files.example', 'file')];
    const gate = await behind(proxy, { allow: [host] });
    const { status, socket } = await connectTo(gate.socket, host);
    expect(status).toBe(200);
    const tls = connectTls({ socket, ca: authority.certificate, servername: 'files.example' });
    tls.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    expect(await text(tls)).toMatch(/\r\n\r\n(?:4\r\n)?file/);
    expect(proxy.asked).toEqual([`CONNECT ${host}`]);
    const plain = (await httpServer((_req, res) => res.end('plain'))).replace('127.0.0.1', 'files.example');
    const other = await behind(proxy, { allow: [plain] });
    expect((await ask(other.socket, get(`http://${plain}/x`))).body).toBe('plain');
  });

  it('a forge is reached', async () => {
    const issues = [{ number: 1, title: 'One', body: '', labels: [], state: 'open' }];
    const [proxy, host] = [await proxyOf(), await secureServer('forge.example', JSON.stringify(issues))];
    const connections = openConnections({ proxies: readProxies({ https_proxy: proxy.url }), certificateAuthorities: authority.certificate }); // prettier-ignore
    const source = { forge: 'gitea' as const, project: 'acme/shop', label: 'halo' };
    const forge = openForge(source, { url: `https://${host}/api/v1`, tokenEnv: 'T', token: 't', connections });
    expect(await forge.listIssues('halo')).toMatchObject([{ number: 1, title: 'One' }]);
    expect(new Set(proxy.asked)).toEqual(new Set([`CONNECT ${host}`]));
  });

  it('the proxy receives its own password, and no server does', async () => {
    const proxy = await proxyOf();
    const seen: string[] = [];
    const plain = (await httpServer((req, res) => {
      seen.push(JSON.stringify(req.headers));
      res.end('{}');
    })).replace('127.0.0.1', 'npm.example'); // prettier-ignore
    const url = proxy.url.replace('//', '//me:p%40ss@');
    const secure = await secureServer('npm.example', '{}');
    for (const host of [`https://${secure}`, `http://${plain}`]) {
      const gate = await behind({ url }, { registries: npmAt(host) });
      expect((await ask(gate.socket, get(`/~npm/${new URL(host).host}/left`))).status).toBe(200);
    }
    const basic = `Basic ${Buffer.from('me:p@ss').toString('base64')}`;
    expect(proxy.authorizations).toEqual([basic, basic]);
  });

  it('a proxy over TLS is trusted through the same certificate authorities', async () => {
    // A proxy itself is always reached directly, also by the name of this machine.
    const [proxy, host] = [await proxyOf({ tls: localhost }), await secureServer('npm.example', '{}')];
    const gate = await behind(proxy, { registries: npmAt(`https://${host}`) });
    expect((await ask(gate.socket, get(`/~npm/${host}/left`))).status).toBe(200);
    const plain = (await httpServer((_req, res) => res.end('{}'))).replace('127.0.0.1', 'npm.example');
    const other = await behind(proxy, { registries: npmAt(`http://${plain}`) });
    expect((await ask(other.socket, get(`/~npm/${plain}/left`))).status).toBe(200);
    expect(proxy.asked).toEqual([`CONNECT ${host}`, `GET http://${plain}/left`]);
  });

  it('what NO_PROXY names is reached directly, by its verified address', async () => {
    const [proxy, host] = [await proxyOf(), await secureServer('npm.example', '{}')];
    const direct = { registries: npmAt(`https://${host}`), lookup: () => Promise.resolve(['127.0.0.1']) };
    const gate = await behind(proxy, direct, '.example');
    expect((await ask(gate.socket, get(`/~npm/${host}/left`))).status).toBe(200);
    expect(proxy.asked).toEqual([]);
  });

  it.each([
    [407, 'answered 407'],
    [502, 'answered 502'],
  ])('an error %i of the proxy is reported as one', async (status, message) => {
    const proxy = await proxyOf({ status });
    const gate = await behind(proxy, { registries: npmAt('https://npm.example'), model: modelAt('model.example'), allow: ['a.example:443'] }); // prettier-ignore
    const name = proxy.url.replace('http://', '');
    const sentence = `the proxy ${name} ${message}`;
    expect((await ask(gate.socket, get('/~npm/npm.example:443/left'))).body).toContain(sentence);
    expect((await ask(gate.socket)).body).toContain(sentence);
    const { status: tunnel, socket } = await connectTo(gate.socket, 'a.example:443');
    expect([tunnel, await text(socket)]).toEqual([502, expect.stringContaining(sentence)]);
  });

  it('a proxy that does not listen is named', async () => {
    const gate = await behind({ url: 'http://127.0.0.1:1' }, { registries: npmAt('https://npm.example') });
    const { status, body } = await ask(gate.socket, get('/~npm/npm.example:443/left'));
    expect([status, body]).toEqual([502, expect.stringContaining('the proxy 127.0.0.1:1 could not be reached')]);
  });
});

describe('incident proxy-address: an internal address through a proxy', () => {
  const refused = async (target: string, more: Partial<GatewayOptions> = {}) => {
    const proxy = await proxyOf();
    const gate = await behind(proxy, { allow: [target], ...more });
    const { status, socket } = await connectTo(gate.socket, target);
    socket.destroy();
    return [status, proxy.asked];
  };

  it('is refused if this machine resolves the name to it', async () => {
    for (const address of ['169.254.169.254', '10.0.0.7', '127.0.0.1', '::ffff:10.0.0.7'])
      expect(await refused('evil.example:443', { lookup: () => Promise.resolve([address]) })).toEqual([403, []]);
    const plain = await behind(await proxyOf(), { allow: ['evil.example:80'], lookup: () => Promise.resolve(['10.0.0.7']) }); // prettier-ignore
    expect((await ask(plain.socket, get('http://evil.example/x'))).status).toBe(403);
  });

  it('is refused for a redirect of a registry', async () => {
    const proxy = await proxyOf();
    const plain = (await httpServer((_req, res) => res.writeHead(302, { location: 'http://169.254.169.254/latest' }).end())).replace('127.0.0.1', 'npm.example'); // prettier-ignore
    const gate = await behind(proxy, { registries: npmAt(`http://${plain}`) });
    expect((await ask(gate.socket, get(`/~npm/${plain}/left`))).status).toBe(502);
    expect(proxy.asked).toEqual([`GET http://${plain}/left`]);
  });

  it('is allowed if the user named it', async () => {
    const host = await secureServer('inner.example', 'x');
    const [status, asked] = await refused(host, { mayBePrivate: [host], lookup: () => Promise.resolve(['10.0.0.7']) });
    expect([status, asked]).toEqual([200, [`CONNECT ${host}`]]);
  });
});
