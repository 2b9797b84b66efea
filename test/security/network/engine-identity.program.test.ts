import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer } from 'node:net';
import { join } from 'node:path';
import { fastify } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import type { EngineAddress } from '../../../src/core/engine/engine-address.ts';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { addEngine } from '../../../src/features/engines/api/add-engine.ts';
import { addJoinRoutes } from '../../../src/features/engines/api/join-route.ts';
import { findConnectionFault } from '../../../src/features/engines/core/connection-faults.ts';
import { joinMac } from '../../../src/features/engines/core/join.ts';
import {
  createAuthority,
  createKey,
  keyFingerprint,
  signCertificate,
  type Identity,
} from '../../../src/lib/network/certificate-authority.ts';
import { openDockerClient } from '../../../src/sandbox/docker/docker-client.ts';
import { openDockerEngine } from '../../../src/sandbox/docker/engine.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** Machines that answer in place of an engine, or want to become one. */

const DAY_MS = 86_400_000;
const authority = createAuthority('engines', DAY_MS);
const foreign = createAuthority('engines', DAY_MS);
const issue = (by: Identity, use: 'server' | 'client', name: string, validMs = DAY_MS) => {
  const { publicKey, key } = createKey();
  return {
    key,
    cert: signCertificate(by, { publicKey, use, names: [name], validMs }),
    print: keyFingerprint(publicKey),
  };
};
const client = issue(authority, 'client', 'halo');
const engine = issue(authority, 'server', '127.0.0.1');

const open: (Server | TcpServer)[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  }
});

async function listen(server: Server | TcpServer): Promise<EngineAddress> {
  open.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { name: 'build-2', address, tls: { ca: authority.cert, cert: client.cert, key: client.key, fingerprint: engine.print } }; // prettier-ignore
}

/** What an attacker got of halo's requests. */
let stolen: string[] = [];
const steal: RequestListener = ({ url = '' }, answer) => {
  stolen.push(url);
  answer.end(JSON.stringify({ ID: 'x', ServerVersion: '28.0', Components: [] }));
};
/** It asks for no certificate of a client, unless `options` say so: an attacker wants the request. */
const withTls = (identity: Identity, options: ServerOptions = {}) =>
  listen(createServer({ ...identity, ...options }, steal));

async function refusalOf(at: EngineAddress, deadlineMs = 3_000): Promise<HaloError> {
  stolen = [];
  const error = await openDockerEngine(at, { deadlineMs }).info().then(() => undefined, (thrown: unknown) => thrown); // prettier-ignore
  expect(error).toBeInstanceOf(HaloError);
  return error as HaloError;
}
const faultOf = ({ cause }: HaloError) => findConnectionFault(cause as Error)?.says;

describe('incident engine-certificate: a machine in place of an engine', () => {
  it.each([
    {
      what: 'a certificate of its own',
      identity: () => issue(foreign, 'server', '127.0.0.1'),
      says: 'its certificate is not one of this server',
    },
    {
      what: 'an expired certificate of the engine',
      identity: () => issue(authority, 'server', '127.0.0.1', -1_000),
      says: 'its certificate has expired',
    },
    {
      what: 'the certificate of another engine',
      identity: () => issue(authority, 'server', '127.0.0.2'),
      says: 'its certificate is for another machine',
    },
    {
      what: 'a certificate of halo for the same address, of another key',
      identity: () => issue(authority, 'server', '127.0.0.1'),
      says: 'its key is not the one with which it joined: another machine may answer in its place',
    },
    {
      what: 'the certificate of halo’s client',
      identity: () => ({ ...client }),
      says: 'its certificate is not one of this server',
    },
  ])('gets no request with $what', async ({ identity, says }) => {
    const error = await refusalOf(await withTls(identity()));
    expect({ code: error.code, stolen, says: faultOf(error) }).toEqual({
      code: 'DOCKER_UNAVAILABLE',
      stolen: [],
      says,
    });
  });

  it('an engine with its certificate, and only that, gets requests', async () => {
    const at = await withTls(engine, { ca: authority.cert, requestCert: true, rejectUnauthorized: true });
    await openDockerEngine(at, { deadlineMs: 3_000 }).info();
    expect(stolen.length).toBeGreaterThan(0);
    const { tls } = at;
    const intruder = issue(authority, 'server', '127.0.0.3');
    // The certificate of one engine does not open another one.
    await refusalOf({ ...at, tls: { ...tls!, cert: intruder.cert, key: intruder.key } });
    expect(stolen).toEqual([]);
  });
});

describe('incident engine-downgrade: a machine between halo and an engine', () => {
  it('cannot make halo speak an old TLS', async () => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    expect((await refusalOf(await withTls(engine, old))).code).toBe('DOCKER_UNAVAILABLE');
    expect(stolen).toEqual([]);
  });

  it('cannot make halo speak without TLS', async () => {
    const error = await refusalOf(await listen(createHttpServer(steal)));
    expect([stolen, faultOf(error)]).toEqual([[], 'it does not speak TLS']);
  });

  it('reads nothing of the requests that pass it, and changes nothing', async () => {
    let seen = Buffer.alloc(0);
    const server = createTcpServer((near) => {
      near.on('error', () => undefined).on('data', (piece: Buffer) => (seen = Buffer.concat([seen, piece])));
      near.once('data', () => near.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'));
    });
    expect((await refusalOf(await listen(server))).code).toBe('DOCKER_UNAVAILABLE');
    expect(seen.toString('latin1')).not.toMatch(/GET|info|PRIVATE/);
  });

  it('cannot send halo to another address', async () => {
    const away = await listen(createHttpServer(steal));
    const redirect: RequestListener = (_request, answer) => void answer.writeHead(307, { location: away.address!.replace('tcp', 'http') }).end(); // prettier-ignore
    await refusalOf(await listen(createServer(engine, redirect)));
    expect(stolen).toEqual([]);
  });
});

describe('incident engine-answers: an engine that answers to harm the server', () => {
  it.each<{ what: string; answer: RequestListener }>([
    {
      what: 'drips its answer',
      answer: (request, answer) => {
        const drip = setInterval(() => answer.write(' '), 20);
        request.socket.once('close', () => clearInterval(drip));
      },
    },
    {
      what: 'never stops answering',
      answer: (_request, answer) => {
        const piece = Buffer.alloc(1024 * 1024, ' ');
        const more = () => { while (answer.write(piece)); answer.once('drain', more); }; // prettier-ignore
        more();
      },
    },
    { what: 'answers with other than JSON', answer: (_request, answer) => void answer.end('<html>') },
  ])('that $what is given up in time', async ({ answer }) => {
    const before = process.memoryUsage().rss;
    await refusalOf(await listen(createServer(engine, answer)), 1_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(700 * 1024 ** 2);
  });

  it.each([
    { what: 'a wait for the end of a container', status: 200, call: 'wait' },
    { what: 'a stream that it refuses', status: 500, call: 'attach' },
  ] as const)('that never stops answering $what is given up in time', async ({ status, call }) => {
    const at = await listen(
      createServer(engine, (_request, answer) => {
        answer.statusCode = status;
        const piece = Buffer.alloc(1024 * 1024, ' ');
        const more = () => { while (answer.write(piece)); answer.once('drain', more); }; // prettier-ignore
        more();
      }),
    );
    const container = openDockerClient(at).getContainer('x');
    const asked = call === 'wait' ? container.wait() : container.attach({ stream: true, stdout: true });
    await expect(asked).rejects.toThrow(/its response is larger than 64 MiB|aborted/);
  });

  it('that lists foreign containers and volumes makes halo ask for none but its own', async () => {
    const calls: string[] = [];
    const at = await listen(
      createServer(engine, ({ url = '', method = '' }, answer) => {
        calls.push(`${method} ${decodeURIComponent(url)}`);
        const foreign = {
          Id: '../../volumes/db',
          Name: 'db',
          Labels: { 'com.docker.compose.project': 'shop' },
          Created: 1,
        };
        answer.end(JSON.stringify(url.includes('/volumes') ? { Volumes: [foreign] } : [foreign]));
      }),
    );
    const liar = openDockerEngine(at, { deadlineMs: 3_000 });
    const listed = await liar.listResources('home-1');
    expect(calls.every((call) => call.includes('dev.halo.home=home-1'))).toBe(true);
    expect(listed).toEqual([]);
    for (const kind of ['snapshot', 'objects'] as const)
      expect(await liar.listKeptVolumes({ kind, home: 'home-1' })).toEqual([]);
  });
});

describe('incident engine-join: a machine that was not invited', () => {
  const dir = tempDir();
  /** A signing request of a new key, as base64. */
  const csrOf = (...more: string[]) => {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'key.pem'];
    execFileSync('openssl', ['req', '-new', ...key, '-subj', '/CN=build-3', ...more, '-out', 'csr.pem'], { cwd: dir, stdio: 'pipe' }); // prettier-ignore
    return readFileSync(join(dir, 'csr.pem'), 'utf8').replace(/-----[^-]+-----|\n/g, '');
  };

  async function invite(now = new Date()) {
    const home = tempDir();
    for (const name of ['build-2', 'build-3'])
      await addEngine(home, { name, address: `tcp://${name}.example:2376`, server: 'http://h' }, now);
    const again = await addEngine(home, { name: 'build-2', server: 'http://h' }, now);
    const token = / ([0-9a-f]{48}) /.exec(again.command ?? '')?.[1] ?? '';
    let refused = 0;
    const count = () => Promise.resolve(void (refused += 1));
    const app = fastify();
    addJoinRoutes(app, { home, limits: { countRefused: count, countRequest: count, countSignIn: count } });
    const send = async (csr: string, { name = 'build-2', key = token } = {}) => {
      const payload = { name, csr, mac: joinMac({ name, csr }, key).toString('hex') };
      return app.inject({ method: 'POST', url: '/engines/join', payload });
    };
    return { send, app, refused: () => refused };
  }

  it.each([
    { what: 'a guessed token', how: { key: 'ab'.repeat(24) } },
    { what: 'the token of another engine', how: { name: 'build-3' } },
    { what: 'the name of no engine', how: { name: '../_authority' } },
  ])('gets no certificate with $what', async ({ how }) => {
    const server = await invite();
    const { statusCode, body } = await server.send(csrOf(), how);
    expect([statusCode, body.includes('CERTIFICATE'), server.refused()]).toEqual([500, false, 1]);
  });

  it('gets no certificate with the token of a machine that has joined, or after an hour', async () => {
    const server = await invite();
    expect((await server.send(csrOf())).statusCode).toBe(200);
    expect((await server.send(csrOf())).body).not.toContain('CERTIFICATE');
    const late = await invite(new Date(Date.now() - 3_600_000));
    expect((await late.send(csrOf())).body).not.toContain('CERTIFICATE');
  });

  it('cannot change the request of an invited one', async () => {
    const server = await invite();
    const [mine, theirs] = [csrOf(), csrOf()];
    const mac = joinMac({ name: 'build-2', csr: theirs }, 'unknown').toString('hex');
    const { body } = await server.app.inject({ method: 'POST', url: '/engines/join', payload: { name: 'build-2', csr: mine, mac } }); // prettier-ignore
    expect(body).not.toContain('CERTIFICATE');
  });

  it('gets neither other names nor the rights of an authority or a client that its signing request asks for', async () => {
    const server = await invite();
    const asked = ['basicConstraints=critical,CA:TRUE', 'keyUsage=keyCertSign', 'extendedKeyUsage=clientAuth', 'subjectAltName=DNS:build-3.example,IP:10.0.0.1']; // prettier-ignore
    const { body } = await server.send(csrOf(...asked.flatMap((extension) => ['-addext', extension])));
    const [cert, ca] = body.split(/(?<=-----END CERTIFICATE-----\n)/).map((pem) => new X509Certificate(pem));
    expect([cert?.subject, cert?.subjectAltName, cert?.ca, cert?.keyUsage]).toEqual(['CN=build-2.example', 'DNS:build-2.example', false, ['1.3.6.1.5.5.7.3.1']]); // prettier-ignore
    expect(cert?.checkIssued(ca!)).toBe(true);
  });
});
