import { execFileSync, spawnSync } from 'node:child_process';
import { createPublicKey, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  createAuthority,
  createCertificateAuthority,
  createKey,
  keyFingerprint,
  readSigningRequest,
  signCertificate,
} from '../../../src/lib/network/certificate-authority.ts';
import { tempDir } from '../../support/temp-dir.ts';

const authority = createCertificateAuthority('halo test');

it('issues certificates that are valid for one name only', () => {
  const issued = new X509Certificate(authority.issue('a.example').cert);
  const root = new X509Certificate(authority.certificate);
  expect([issued.verify(root.publicKey), issued.checkIssued(root), root.ca, issued.ca]).toEqual([true, true, true, false]); // prettier-ignore
  expect([issued.checkHost('a.example'), issued.checkHost('b.example'), issued.checkHost('x.a.example')]).toEqual(['a.example', undefined, undefined]); // prettier-ignore
});

it('is accepted by OpenSSL in strict mode', () => {
  const dir = tempDir();
  writeFileSync(join(dir, 'ca.pem'), authority.certificate);
  writeFileSync(join(dir, 'a.pem'), authority.issue('a.example').cert);
  const options = ['-x509_strict', '-CAfile', 'ca.pem', '-purpose', 'sslserver', '-verify_hostname', 'a.example'];
  expect(execFileSync('openssl', ['verify', ...options, 'a.pem'], { cwd: dir, encoding: 'utf8' })).toBe('a.pem: OK\n');
});

it('identifies a server of TLS', async () => {
  const server = createServer(authority.issue('a.example'), (socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const dial = (servername: string, ca?: string) =>
    new Promise((resolve) => {
      const socket = connect({ port, host: '127.0.0.1', servername, ...(ca === undefined ? {} : { ca }) });
      socket.on('secureConnect', () => resolve('trusted')).on('error', (error: NodeJS.ErrnoException) => resolve(error.code)); // prettier-ignore
    });
  expect(await dial('a.example', authority.certificate)).toBe('trusted');
  expect(await dial('b.example', authority.certificate)).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  expect(await dial('a.example', createCertificateAuthority('halo test').certificate)).not.toBe('trusted');
  expect(await dial('a.example')).not.toBe('trusted');
  server.close();
});

it('signs for DNS names and addresses, for servers or for clients, and for a time', () => {
  const dir = tempDir();
  const root = createAuthority('halo test', 86_400_000);
  const { publicKey } = createKey();
  const names = ['build-2.example', '10.1.2.3', 'fd00::1:2', '::1'] as const;
  const server = signCertificate(root, { publicKey, use: 'server', names, validMs: 86_400_000 });
  const parsed = new X509Certificate(server);
  expect([parsed.subject, parsed.subjectAltName]).toEqual([
    'CN=build-2.example',
    'DNS:build-2.example, IP Address:10.1.2.3, IP Address:FD00:0:0:0:0:0:1:2, IP Address:0:0:0:0:0:0:0:1',
  ]);
  expect(parsed.checkIP('10.1.2.3')).toBe('10.1.2.3');
  const client = signCertificate(root, { publicKey, use: 'client', names: ['halo'], validMs: 3_600_000 });
  writeFileSync(join(dir, 'ca.pem'), root.cert);
  const verify = (cert: string, ...options: string[]) => {
    writeFileSync(join(dir, 'a.pem'), cert);
    return spawnSync('openssl', ['verify', '-x509_strict', '-CAfile', 'ca.pem', ...options, 'a.pem'], { cwd: dir }).status; // prettier-ignore
  };
  expect([verify(server, '-purpose', 'sslserver'), verify(server, '-purpose', 'sslclient')]).toEqual([0, 2]);
  expect([verify(client, '-purpose', 'sslclient'), verify(client, '-purpose', 'sslserver')]).toEqual([0, 2]);
  const later = String(Math.ceil(Date.now() / 1_000) + 3_602);
  expect(verify(client, '-purpose', 'sslclient', '-attime', later)).toBe(2);
});

describe('a signing request', () => {
  const dir = tempDir();
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: dir, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }); // prettier-ignore
  const make = (...kind: string[]) => openssl('req', '-new', '-nodes', '-newkey', ...kind, '-keyout', 'key.pem', '-subj', '/CN=x'); // prettier-ignore
  const P256 = ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];

  it.each([
    { kind: 'P-256', args: P256 },
    { kind: 'P-384', args: ['ec', '-pkeyopt', 'ec_paramgen_curve:P-384', '-sha256'] },
    { kind: 'RSA', args: ['rsa:2048'] },
  ])('gives its key ($kind)', ({ args }) => {
    const key = readSigningRequest(make(...args));
    expect(keyFingerprint(key)).toBe(keyFingerprint(createPublicKey(readFileSync(join(dir, 'key.pem')))));
  });

  it.each([
    { what: 'no PEM', pem: () => 'x', why: 'it is not a certificate signing request in PEM' },
    { what: 'damaged', pem: () => '-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----', why: 'it is damaged' }, // prettier-ignore
    { what: 'a weak key', pem: () => make('rsa:1024'), why: 'its key is not on P-256 or P-384, nor RSA with at least 2048 bits' }, // prettier-ignore
    {
      what: 'another one’s key',
      pem: () => {
        const body = (text: string) => Buffer.from(text.replace(/-----[^-]+-----/g, ''), 'base64');
        const [mine, theirs] = [body(make(...P256)), body(make(...P256))];
        // The public keys are as long, and at the same place.
        mine.set(theirs.subarray(0, theirs.length - 74), 0);
        return `-----BEGIN CERTIFICATE REQUEST-----\n${mine.toString('base64')}\n-----END CERTIFICATE REQUEST-----`;
      },
      why: /it is not signed with SHA-256 by its own key|it is damaged/,
    },
  ])('is refused: $what', ({ pem, why }) => {
    expect(() => readSigningRequest(pem())).toThrow(why);
  });
});
