import { createServer, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { findHelloFault, parseClientHello } from '../../../src/gateway/egress/tunnel.ts';
import { listening } from '../fixture.ts';

/** The first bytes that Node's own TLS client sends. */
async function helloFor(servername: string): Promise<Buffer> {
  let take: (bytes: Buffer) => void;
  const bytes = new Promise<Buffer>((resolve) => (take = resolve));
  const server = createServer((socket: Socket) => {
    socket
      .on('error', () => {})
      .once('data', (chunk) => {
        take(chunk);
        socket.destroy();
      });
  });
  const port = Number((await listening(server)).split(':')[1]);
  connectTls({ port, host: '127.0.0.1', servername }).on('error', () => {});
  return bytes;
}

/** The same message in records of a few bytes each. */
function inSmallRecords(hello: Buffer): Buffer {
  const message = hello.subarray(5);
  const parts: Buffer[] = [];
  for (let at = 0; at < message.length; at += 7) {
    const part = message.subarray(at, at + 7);
    parts.push(Buffer.from([22, 3, 1, 0, part.length]), part);
  }
  return Buffer.concat(parts);
}

describe('the first bytes of a TLS client', () => {
  it('contain the server name, split at any byte', async () => {
    const hello = await helloFor('packages.example.com');
    const named = { kind: 'tls', name: 'packages.example.com' };
    expect(parseClientHello(hello)).toEqual(named);
    expect(parseClientHello(inSmallRecords(hello))).toEqual(named);
    expect(parseClientHello(Buffer.concat([hello, Buffer.from('more')]))).toEqual(named);
    for (let length = 0; length < hello.length; length += 1)
      expect(parseClientHello(hello.subarray(0, length))).toEqual({ kind: 'more' });
  });

  it('are of another protocol if a length in them is wrong', async () => {
    const hello = await helloFor('packages.example.com');
    const at = hello.indexOf('packages.example.com');
    for (const [place, value] of [
      [at - 1, 200],
      [at - 4, 77],
      [at - 9, 1],
    ] as const) {
      const lying = Buffer.from(hello);
      lying[place] = value;
      expect(parseClientHello(lying)).not.toEqual({ kind: 'tls', name: 'packages.example.com' });
    }
  });

  it('are compared with the requested host', async () => {
    const hello = await helloFor('packages.example.com');
    const silent = await helloFor('');
    const https = { host: 'packages.example.com', port: 443 };
    expect(findHelloFault(https, hello)).toBeUndefined();
    expect(findHelloFault({ ...https, port: 8443 }, hello)).toBeUndefined();
    expect(findHelloFault({ ...https, host: 'other.example.com' }, hello)).toBe(
      'its TLS is for "packages.example.com"',
    );
    expect(findHelloFault({ ...https, host: '203.0.113.9' }, hello)).toBe('its TLS is for "packages.example.com"');
    expect(findHelloFault(https, silent)).toBe('its TLS names no server');
    expect(findHelloFault({ ...https, host: '203.0.113.9' }, silent)).toBeUndefined();
    for (const other of ['', 'GET / HTTP/1.1\r\n', 'SSH-2.0-x\r\n'].map((text) => Buffer.from(text)))
      expect(findHelloFault(https, other)).toBe('it was not used for TLS');
    expect(findHelloFault({ ...https, port: 22 }, Buffer.from('SSH-2.0-x\r\n'))).toBeUndefined();
  });
});
