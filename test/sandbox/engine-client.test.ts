import { createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { EngineAddress } from '../../src/core/engine/engine-address.ts';
import {
  createAuthority,
  createKey,
  signCertificate,
  type Identity,
} from '../../src/lib/network/certificate-authority.ts';
import { keyFingerprint } from '../../src/lib/network/certificate-authority.ts';
import { closeDockerClient, openDockerClient, toDockerError } from '../../src/sandbox/docker/docker-client.ts';
import { openDockerEngine } from '../../src/sandbox/docker/engine.ts';

const DAY_MS = 86_400_000;
const authority = createAuthority('engines', DAY_MS);
const foreign = createAuthority('engines', DAY_MS);
const issue = (by: Identity, use: 'server' | 'client', name: string, validMs = DAY_MS): Identity => {
  const { publicKey, key } = createKey();
  return { key, cert: signCertificate(by, { publicKey, use, names: [name], validMs }) };
};
const engineOf = issue(authority, 'server', '127.0.0.1');
const client = issue(authority, 'client', 'halo');

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** What an engine answers that has nothing. */
const idle: RequestListener = ({ url }, answer) => {
  answer.end(JSON.stringify(url?.includes('/containers/json') ? [] : { ID: 'the-id', ServerVersion: '28.0' }));
};

async function listen(server: Server): Promise<number> {
  open.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** An engine with this certificate, which asks for one of halo's authority. */
const listenTls = (identity: Identity, options: ServerOptions = {}, handle = idle) =>
  listen(
    createServer({ ...identity, ca: authority.cert, requestCert: true, rejectUnauthorized: true, ...options }, handle),
  );

const at = (port: number, tls: Partial<EngineAddress['tls']> = {}): EngineAddress => ({
  name: 'build-2',
  address: `tcp://127.0.0.1:${port}`,
  tls: { ca: authority.cert, ...client, ...tls },
});
const idOf = async (address: EngineAddress) => (await openDockerEngine(address, { deadlineMs: 5_000 }).info()).id;

describe('an engine behind mutual TLS', () => {
  it('is used if it has a certificate of the configured authority for its name, and the configured key', async () => {
    const port = await listenTls(engineOf);
    expect(await idOf(at(port, { fingerprint: keyFingerprint(createPublicKey(engineOf.cert)) }))).toBe('the-id');
  });

  it.each<[string, () => Promise<EngineAddress>]>([
    ['a certificate of another authority', async () => at(await listenTls(issue(foreign, 'server', '127.0.0.1')))],
    ['a certificate for another name', async () => at(await listenTls(issue(authority, 'server', '127.0.0.2')))],
    ['an expired certificate', async () => at(await listenTls(issue(authority, 'server', '127.0.0.1', -1)))],
    ['the certificate of a client', async () => at(await listenTls(issue(authority, 'client', '127.0.0.1')))],
    [
      'the key of another engine',
      async () =>
        at(await listenTls(issue(authority, 'server', '127.0.0.1')), {
          fingerprint: keyFingerprint(createPublicKey(engineOf.cert)),
        }),
    ],
    [
      'only TLS 1.1',
      async () =>
        at(await listenTls(engineOf, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' })),
    ],
    ['no TLS', async () => at(await listen(createHttpServer(idle)))],
  ])('is not trusted with %s, whatever the environment says', async (_what, address) => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
      .stubEnv('DOCKER_TLS_VERIFY', '')
      .stubEnv('DOCKER_HOST', 'unix:///x');
    await expect(idOf(await address())).rejects.toMatchObject({
      code: 'DOCKER_UNAVAILABLE',
      message: expect.stringMatching(/^The engine build-2 cannot be trusted \(/) as string,
    });
  });
});

describe('a client of an engine', () => {
  const engineAt = (port: number, deadlineMs = 300) =>
    openDockerEngine({ name: 'build-2', address: `tcp://127.0.0.1:${port}` }, { deadlineMs });

  it('names the engine that does not answer', async () => {
    const port = await listen(createHttpServer(idle));
    open.splice(0).forEach((server) => server.close());
    await expect(engineAt(port).info()).rejects.toThrow(/^The engine build-2 does not answer \(.*ECONNREFUSED/);
  });

  it('follows no engine to another address', async () => {
    const asked: string[] = [];
    const other = await listen(
      createHttpServer(({ url }, answer) => {
        asked.push(url ?? '');
        answer.end('{}');
      }),
    );
    const port = await listen(
      createHttpServer((_request, answer) => answer.writeHead(307, { location: `http://127.0.0.1:${other}/x` }).end()),
    );
    await expect(engineAt(port).info()).rejects.toThrow('The engine build-2 could not report its version');
    expect(asked).toEqual([]);
  });

  it.each<[string, RequestListener, RegExp]>([
    [
      'drips',
      (_request, answer) => {
        const timer = setInterval(() => answer.write(' '), 20);
        answer.on('close', () => clearInterval(timer));
      },
      /did not answer within 0.3 s/,
    ],
    ['never ends', (_request, answer) => void answer.write('{'), /did not answer within 0.3 s/],
  ])('gives up an answer that %s', async (_what, handle, why) => {
    const port = await listen(createHttpServer(handle));
    await expect(engineAt(port).info()).rejects.toThrow(why);
  });

  it('gives up an answer that is too large, and reads no more of it', async () => {
    const chunk = Buffer.alloc(4 * 1024 ** 2, ' ');
    let sent = 0;
    const pour: RequestListener = (_request, answer) => {
      const more = () => {
        while (!answer.destroyed && answer.write(chunk)) sent += chunk.length;
        sent += chunk.length;
      };
      answer.on('drain', more);
      more();
    };
    const port = await listen(createHttpServer(pour));
    await expect(engineAt(port, 20_000).usersInUse()).rejects.toThrow('its response is larger than 64 MiB');
    expect(sent).toBeLessThan(200 * 1024 ** 2);
  });

  it('fails all calls as soon as it is closed', async () => {
    const engine = engineAt(await listen(createHttpServer(() => undefined)), 60_000);
    const codeOf = (call: Promise<unknown>) => call.catch(({ code }: { code: string }) => code);
    const codes = [codeOf(engine.info()), codeOf(engine.usersInUse())];
    await new Promise((resolve) => setImmediate(resolve));
    engine.close();
    expect(await Promise.all([...codes, codeOf(engine.info())])).toEqual(Array(3).fill('DOCKER_FAILED'));
  });

  it('is named in errors of the streams of its containers, which do not name it', () => {
    const docker = openDockerClient({ name: 'build-1', address: 'unix:///nowhere' });
    const reset = toDockerError(new Error('read ECONNRESET'), 'prepare a sandbox', docker.getContainer('a'));
    expect(reset.message).toBe('The engine build-1 could not prepare a sandbox: read ECONNRESET.');
    closeDockerClient(docker);
  });

  it('opens a limited number of connections, and a hanging engine takes none of another one', async () => {
    let connections = 0;
    const hanging = createHttpServer(() => undefined);
    hanging.on('connection', () => (connections += 1));
    const stuck = engineAt(await listen(hanging), 1_000);
    const calls = Array.from({ length: 100 }, () => stuck.usersInUse().catch((error: Error) => error.message));
    expect(await engineAt(await listen(createHttpServer(idle))).usersInUse()).toEqual(new Set());
    expect(connections).toBeLessThanOrEqual(32);
    expect(new Set(await Promise.all(calls)).size).toBe(1);
  });
});
