import type { IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { describeNetworkError } from '../error-responses.ts';
import { pinnedLookup, type ResolvedAddresses } from './addresses.ts';
import { parseAllowedTarget, trackUpstreamSocket, type EgressContext } from './egress-rules.ts';
import { formatEndpoint, type Endpoint } from './host-port.ts';

const IDLE_MS = 10 * 60_000;

/** The port on which only TLS is allowed. */
const TLS_PORT = 443;

interface TunnelRequest {
  req: IncomingMessage;
  socket: Duplex;
  head: Buffer;
}

/** Serves CONNECT to an allowed target. TLS must name the requested host; bytes are forwarded unchanged. */
export async function serveTunnel(network: EgressContext, { req, socket, head }: TunnelRequest): Promise<void> {
  const text = req.url ?? '';
  const entry = { method: 'CONNECT', target: text };
  const egress = { route: 'tunnel', target: text } as const;
  socket.on('error', () => socket.destroy());
  const refuseTunnel = ({ reason, ...why }: { reason: string; unlisted?: true }) => {
    network.log.refuse({ ...entry, status: 403 }, reason, { ...egress, ...why });
    respondAndClose(socket, '403 Forbidden', reason);
  };
  const fail = (error: unknown, target: Endpoint) => {
    const reason = `network: ${formatEndpoint(target)} could not be reached: ${describeNetworkError(error)}`;
    network.log.record({ ...entry, outcome: 'failed', status: 502 }, egress, reason);
    respondAndClose(socket, '502 Bad Gateway', reason);
  };
  const target = parseAllowedTarget(text, network.allow);
  if ('reason' in target) return refuseTunnel(target);
  // Bytes that arrive during the lookup wait in the socket.
  try {
    const found = await network.addresses.find(target, 'https:');
    if ('reason' in found) return refuseTunnel(found);
    const upstream = await dial(network, target, found);
    if (socket.destroyed) return void upstream.destroy();
    const carried = network.log.record({ ...entry, outcome: 'served', status: 200 }, egress);
    const cut = (reason: string) => {
      network.log.refuse({ ...entry, status: 403 }, reason, egress);
      upstream.destroy();
      socket.destroy();
    };
    join(network, { socket, upstream, head, target, carried, cut });
  } catch (error) {
    fail(error, target);
  }
}

async function dial(network: EgressContext, target: Endpoint, found: ResolvedAddresses): Promise<Socket> {
  const upstream = await network.connections.dial(target, pinnedLookup(found));
  trackUpstreamSocket(network, upstream);
  upstream.setTimeout(IDLE_MS, () => upstream.destroy());
  upstream.on('error', () => upstream.destroy());
  return upstream;
}

interface Sides {
  socket: Duplex;
  upstream: Socket;
  head: Buffer;
  target: Endpoint;
  carried: (bytes: number) => void;
  /** Closes both sides and logs the reason. */
  cut: (reason: string) => void;
}

function join({ limits }: EgressContext, { socket, upstream, head, target, carried, cut }: Sides): void {
  const name = formatEndpoint(target);
  const counter = (maxBytes: number, which: string) => {
    let bytes = 0;
    return (chunk: Buffer) => {
      bytes += chunk.length;
      carried(chunk.length);
      if (bytes > maxBytes)
        cut(`network: ${name} cut off; more than ${maxBytes} bytes went ${which} through one tunnel`);
    };
  };
  socket.once('close', () => {
    if (!endedCleanly(socket)) upstream.destroy();
  });
  upstream.once('close', () => {
    if (!endedCleanly(upstream)) socket.destroy();
  });
  socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
  const forward = () => {
    upstream.on('data', counter(limits.tunnelDownBytes, 'in'));
    upstream.pipe(socket);
  };
  // On other ports the server may send first.
  if (target.port !== TLS_PORT) forward();
  const sent = counter(limits.tunnelUpBytes, 'out');
  awaitHello(socket, { head, ms: target.port === TLS_PORT ? limits.helloMs : IDLE_MS }, (first) => {
    const fault = findHelloFault(target, first);
    if (fault !== undefined) return cut(`network: ${name} cut off; ${fault}`);
    if (target.port === TLS_PORT) forward();
    upstream.write(first);
    sent(first);
    socket.on('data', sent);
    socket.pipe(upstream);
  });
}

/** Reads until the protocol of the client is known, then passes on the bytes read. */
function awaitHello(socket: Duplex, { head, ms }: { head: Buffer; ms: number }, go: (first: Buffer) => void): void {
  let first = head;
  const stop = () => {
    clearTimeout(timer);
    socket.off('data', onData).off('end', done).off('close', stop).pause();
  };
  const done = () => {
    stop();
    go(first);
  };
  const timer = setTimeout(done, ms);
  const onData = (chunk: Buffer) => {
    first = Buffer.concat([first, chunk]);
    if (parseClientHello(first).kind !== 'more') done();
  };
  socket.on('data', onData).once('end', done).once('close', stop);
  if (parseClientHello(first).kind !== 'more') done();
}

/** Finds what is wrong with the first bytes of a tunnel, as the end of a sentence. TLS must name the requested host. */
export function findHelloFault({ host, port }: Endpoint, first: Buffer): string | undefined {
  const hello = parseClientHello(first);
  if (hello.kind !== 'tls') {
    const begun = hello.kind === 'more' && first.length > 0;
    return port === TLS_PORT || begun ? 'it was not used for TLS' : undefined;
  }
  // SNI cannot contain an IP address (RFC 6066 §3).
  const wanted = isIP(host) === 0 ? host : undefined;
  if (hello.name?.toLowerCase() === wanted) return undefined;
  if (hello.name === undefined) return 'its TLS names no server';
  return `its TLS is for ${JSON.stringify(hello.name)}`;
}

/** Whether both directions ended normally. The pipes then forward the end, and bytes may still be in flight. */
function endedCleanly(side: Duplex): boolean {
  return side.readableEnded && side.writableFinished;
}

function respondAndClose(socket: Duplex, status: string, reason: string): void {
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n` +
      `content-length: ${Buffer.byteLength(reason) + 1}\r\n\r\n${reason}\n`,
  );
  // The client may keep its half open, so the socket is destroyed after the response.
  socket.resume();
  socket.once('finish', () => socket.destroy());
}

/**
 * The result of parsing the first bytes of a connection. Own code instead of a library, because a tunnel needs these
 * three outcomes without consuming the stream.
 */
type ClientHello =
  | { kind: 'more' }
  /** A TLS ClientHello; `name` is its SNI, undefined when it has none. */
  | { kind: 'tls'; name: string | undefined }
  | { kind: 'other' };

const HANDSHAKE_RECORD = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const MAX_BYTES = 65_536;

/** Parses the start of a TLS stream (RFC 8446 §4.1.2, RFC 6066 §3). The ClientHello may span several records. */
export function parseClientHello(bytes: Buffer): ClientHello {
  if (bytes.length === 0) return { kind: 'more' };
  const message = joinRecords(bytes);
  if (message === undefined || (message.length > 0 && message[0] !== CLIENT_HELLO)) return { kind: 'other' };
  if (message.length < 4 || message.length < 4 + message.readUIntBE(1, 3)) {
    return bytes.length > MAX_BYTES ? { kind: 'other' } : { kind: 'more' };
  }
  try {
    return { kind: 'tls', name: findServerName(message.subarray(4, 4 + message.readUIntBE(1, 3))) };
  } catch {
    return { kind: 'other' };
  }
}

/** Joins the handshake records received so far. Returns undefined when the bytes are not a handshake. */
function joinRecords(bytes: Buffer): Buffer | undefined {
  const parts: Buffer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const wrong = bytes[at] !== HANDSHAKE_RECORD || (at + 1 < bytes.length && bytes[at + 1] !== 3);
    // Other records may follow the ClientHello but not interrupt it; parsing stops at them.
    if (wrong) return at === 0 ? undefined : Buffer.concat(parts);
    if (at + 5 > bytes.length) break;
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0) return undefined;
    parts.push(bytes.subarray(at + 5, at + 5 + length));
    at += 5 + length;
  }
  return Buffer.concat(parts);
}

/** Throws RangeError when the ClientHello is shorter than its length fields claim. */
function findServerName(hello: Buffer): string | undefined {
  let at = 2 + 32;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  if (at === hello.length) return undefined;
  const end = at + 2 + hello.readUInt16BE(at);
  at += 2;
  const names: string[] = [];
  while (at < end) {
    const type = hello.readUInt16BE(at);
    const length = hello.readUInt16BE(at + 2);
    if (type === SERVER_NAME) names.push(readNameList(slice(hello, at + 4, length)));
    at += 4 + length;
  }
  if (names.length > 1) throw new RangeError('two lists of server names');
  return names[0];
}

function readNameList(list: Buffer): string {
  const length = list.readUInt16BE(3);
  // Exactly one name, of type host_name, the only defined type.
  if (list.readUInt16BE(0) !== list.length - 2 || list[2] !== 0 || length !== list.length - 5) {
    throw new RangeError('not one server name');
  }
  return slice(list, 5, length).toString('latin1');
}

function slice(bytes: Buffer, at: number, length: number): Buffer {
  if (at + length > bytes.length) throw new RangeError('beyond the end');
  return bytes.subarray(at, at + length);
}
