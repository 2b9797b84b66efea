import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createCertificateAuthority } from '../../../src/lib/network/certificate-authority.ts';
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
