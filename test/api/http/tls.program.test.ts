import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { get, type RequestOptions } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AccessLog } from '../../../src/store/access/access-log.ts';
import { openLocal, type LocalOperations } from '../../../src/api/local.ts';
import { serveApi, type ServeOptions } from '../../../src/api/http/serve-api.ts';
import { TlsFiles } from '../../../src/api/http/tls-files.ts';
import { hostOf } from '../../support/halo/host.ts';
import { freePort } from '../../support/network/free-port.ts';
import { skipFor } from '../../support/skip.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { PATIENCE } from '../../support/patience.ts';

const TOKEN = 'a-token-of-the-test';
const FLEET = readFileSync(new URL('../../../docs/fleet.md', import.meta.url), 'utf8');

let home: string;
let operations: LocalOperations;

beforeEach(() => {
  home = tempDir('halo-tls');
  operations = openLocal({ host: hostOf(home) });
});
afterEach(() => operations.close());

/** A certificate of its own authority for localhost, as PEM files. */
function makeCertificate(name: string): { certificate: string; key: string } {
  const [certificate, key] = [join(home, `${name}.pem`), join(home, `${name}.key`)];
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      '-keyout',
      key,
      '-out',
      certificate,
      ...subject,
    ],
    { stdio: 'pipe' },
  );
  return { certificate, key };
}

const serve = (tls: { certificate: string; key: string }, timeouts: ServeOptions['timeouts'] = {}) =>
  serveApi({
    timeouts,
    operations,
    listen: '127.0.0.1:0',
    host: { ...hostOf(home), apiToken: TOKEN },
    rules: { tlsCertificate: tls.certificate, tlsKey: tls.key },
  });

function fetchRuns(url: string, options: RequestOptions): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(`${url}/v1/runs`, { ...options, headers: { authorization: `Bearer ${TOKEN}` } }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    }).on('error', reject);
  });
}

describe('a server with a certificate', () => {
  it('serves HTTPS, which clients verify', async () => {
    const tls = makeCertificate('one');
    const served = await serve(tls);
    try {
      expect(served.url).toMatch(/^https:/);
      expect(await fetchRuns(served.url, { ca: readFileSync(tls.certificate) })).toBe(200);
      await expect(fetchRuns(served.url, {})).rejects.toThrow(/self-signed certificate/);
      await expect(fetch(served.url.replace('https', 'http'))).rejects.toThrow('fetch failed');
    } finally {
      await served.close();
    }
  });

  it('closes a connection that sends no handshake, or its request too slowly', async () => {
    const served = await serve(makeCertificate('one'), { headersMs: 200 });
    const port = Number(new URL(served.url).port);
    const slow = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
    slow.write('GET /healthz HTTP/1.1\r\nx-slow: ');
    const timer = setInterval(() => slow.write('x'), 20);
    try {
      const sockets = [connect(port, '127.0.0.1'), slow];
      const closed = sockets.map(
        (socket) =>
          new Promise((resolve) =>
            socket
              .on('error', () => undefined)
              .on('close', resolve)
              .resume(),
          ),
      );
      await Promise.all(closed);
    } finally {
      clearInterval(timer);
      await served.close();
    }
  });

  it('reads a renewed certificate without a restart, and keeps the last valid one', async () => {
    const files = makeCertificate('one');
    const tls = new TlsFiles(files);
    const first = await tls.read();
    const renewed: string[] = [];
    // Shorter than a read takes, so that reads would overlap.
    const stop = tls.watch(({ cert }) => renewed.push(cert), 1);
    try {
      writeFileSync(files.certificate, 'half a certif');
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(renewed).toEqual([]);
      const next = makeCertificate('two');
      for (const name of ['certificate', 'key'] as const) writeFileSync(files[name], readFileSync(next[name]));
      await vi.waitFor(() => expect(renewed).toHaveLength(1), PATIENCE);
      expect(renewed[0]).not.toBe(first.cert);
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(renewed, 'once for each certificate').toHaveLength(1);
    } finally {
      stop();
    }
  });

  it.each([
    [
      'a file that does not exist',
      (files: { certificate: string }) => ({ ...files, key: '/none.key' }),
      /tls_key: \/none.key cannot be read \(ENOENT\)/,
    ],
    [
      'the key of another certificate',
      (files: { certificate: string }) => ({ ...files, key: makeCertificate('two').key }),
      /cannot be used/,
    ],
  ])('does not start with %s', async (_what, change, message) => {
    await expect(serve(change(makeCertificate('one')) as never)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(message) as string,
    });
  });
});

function hasNginx(): boolean {
  try {
    execFileSync('nginx', ['-v'], { stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}

describe('nginx with the configuration of docs/fleet.md', skipFor(!hasNginx() && 'needs nginx'), () => {
  it('serves requests and the address of clients to halo', async () => {
    const served = await serveApi({ operations, listen: '127.0.0.1:0', host: { ...hostOf(home), apiToken: TOKEN } });
    const { certificate, key } = makeCertificate('proxy');
    const port = await freePort();
    const block = /```nginx\n([^]*?)```/.exec(FLEET)?.[1] ?? '';
    const server = block
      .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
      .replace(/ssl_certificate \S+;/, `ssl_certificate ${certificate};`)
      .replace(/ssl_certificate_key \S+;/, `ssl_certificate_key ${key};`)
      .replace('http://127.0.0.1:7070', served.url);
    mkdirSync(join(home, 'nginx'));
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${home}/nginx;`,
    );
    const config = join(home, 'nginx.conf');
    writeFileSync(
      config,
      `daemon off; pid ${home}/nginx.pid; error_log stderr;\nevents {}\nhttp { access_log off; ${temporary.join(' ')}\n${server}\n}\n`,
    );
    const nginx = spawn('nginx', ['-c', config, '-e', 'stderr'], { stdio: 'ignore' });
    try {
      const url = `https://127.0.0.1:${port}`;
      const ca = readFileSync(certificate);
      await vi.waitFor(async () => expect(await fetchRuns(url, { ca })).toBe(200), PATIENCE);
      await new Promise<void>((resolve, reject) => {
        const headers = { authorization: 'Bearer wrong', 'x-forwarded-for': '203.0.113.9' };
        get(`${url}/v1/runs`, { ca, headers }, (response) => response.resume().on('end', resolve)).on('error', reject);
      });
      const [event] = await new AccessLog(home).read({ limit: 1 });
      expect(event, 'nginx replaces what the client claims').toMatchObject({
        type: 'token.refused',
        from: '127.0.0.1',
      });
    } finally {
      nginx.kill('SIGQUIT');
      await served.close();
    }
  });
});
