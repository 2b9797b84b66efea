import { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import type { EngineTls } from '../../../core/engine/engine-address.ts';

const WAIT_MS = 15_000;

/** Reads the certificate of an engine at a `tcp://` address, which the authority must have signed. Throws errors of TLS. */
export async function readPeerCertificate(address: string, { ca, cert, key }: EngineTls): Promise<X509Certificate> {
  const { hostname, port } = new URL(address);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port), ca, cert, key, minVersion: 'TLSv1.2', servername: '' });
    const timer = setTimeout(
      () => socket.destroy(Object.assign(new Error('no connection'), { code: 'ETIMEDOUT' })),
      WAIT_MS,
    );
    socket.once('secureConnect', () => {
      resolve(new X509Certificate(socket.getPeerCertificate().raw));
      socket.destroy();
    });
    socket.once('error', reject);
    socket.once('close', () => clearTimeout(timer));
  });
}
