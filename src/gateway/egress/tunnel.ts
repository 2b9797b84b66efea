import type { IncomingMessage } from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pinned, type Dialled } from './addresses.ts';
import { readHello } from './client-hello.ts';
import { checkTarget, keepOutside, type Network } from '../network.ts';
import { describeNetworkError } from '../network-error.ts';
import { formatTarget, type Target } from './host-port.ts';

const IDLE_MS = 10 * 60_000;

/** The port on which nothing but TLS is spoken. */
const TLS_PORT = 443;

interface TunnelRequest {
  req: IncomingMessage;
  socket: Duplex;
  head: Buffer;
}

/** Serves CONNECT: bytes both ways, unchanged, to an allowed target; TLS only to the server that was asked for. */
export async function openTunnel(network: Network, { req, socket, head }: TunnelRequest): Promise<void> {
  const text = req.url ?? '';
  const entry = { method: 'CONNECT', target: text };
  const place = { door: 'tunnel', target: text } as const;
  socket.on('error', () => socket.destroy());
  const refuse = (reason: string) => {
    network.ledger.refuse({ ...entry, status: 403 }, reason, place);
    endWith(socket, '403 Forbidden', reason);
  };
  const fail = (error: unknown, target: Target) => {
    network.ledger.record({ ...entry, outcome: 'failed', status: 502 }, place);
    const reason = `network: ${formatTarget(target)} not reached: ${describeNetworkError(error)}`;
    endWith(socket, '502 Bad Gateway', reason);
  };
  const target = checkTarget(text, network.allow);
  if ('reason' in target) return refuse(target.reason);
  // Bytes that arrive while the name is looked up wait in the socket.
  try {
    const found = await network.addresses.find(target);
    if ('reason' in found) return refuse(found.reason);
    const upstream = await dial(network, target, found);
    if (socket.destroyed) return void upstream.destroy();
    const carried = network.ledger.record({ ...entry, outcome: 'served', status: 200 }, place);
    const cut = (reason: string) => {
      network.ledger.refuse({ ...entry, status: 403 }, reason, place);
      upstream.destroy();
      socket.destroy();
    };
    join(network, { socket, upstream, head, target, carried, cut });
  } catch (error) {
    fail(error, target);
  }
}

function dial(network: Network, target: Target, found: Dialled): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const upstream = connect({ ...target, lookup: pinned(found), allowHalfOpen: true });
    keepOutside(network, upstream);
    upstream.setTimeout(IDLE_MS, () => upstream.destroy());
    upstream.once('connect', () => resolve(upstream));
    upstream.on('error', reject);
    upstream.once('close', reject);
  });
}

interface Sides {
  socket: Duplex;
  upstream: Socket;
  head: Buffer;
  target: Target;
  carried: (bytes: number) => void;
  /** Ends both sides, and tells people why. */
  cut: (reason: string) => void;
}

function join({ limits }: Network, { socket, upstream, head, target, carried, cut }: Sides): void {
  const name = formatTarget(target);
  const counter = (most: number, which: string) => {
    let bytes = 0;
    return (chunk: Buffer) => {
      bytes += chunk.length;
      carried(chunk.length);
      if (bytes > most) cut(`network: ${name} cut off; more than ${most} bytes went ${which} through one tunnel`);
    };
  };
  socket.once('close', () => {
    if (!endedCleanly(socket)) upstream.destroy();
  });
  upstream.once('close', () => {
    if (!endedCleanly(upstream)) socket.destroy();
  });
  socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
  const answer = () => {
    upstream.on('data', counter(limits.tunnelDownBytes, 'in'));
    upstream.pipe(socket);
  };
  // Elsewhere the server may be the first to speak.
  if (target.port !== TLS_PORT) answer();
  const sent = counter(limits.tunnelUpBytes, 'out');
  awaitHello(socket, { head, ms: target.port === TLS_PORT ? limits.helloMs : IDLE_MS }, (first) => {
    const fault = judgeHello(target, first);
    if (fault !== undefined) return cut(`network: ${name} cut off; ${fault}`);
    if (target.port === TLS_PORT) answer();
    upstream.write(first);
    sent(first);
    socket.on('data', sent);
    socket.pipe(upstream);
  });
}

/** Reads until it is clear what the client speaks, and gives what was read. */
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
    if (readHello(first).kind !== 'more') done();
  };
  socket.on('data', onData).once('end', done).once('close', stop);
  if (readHello(first).kind !== 'more') done();
}

/** What is wrong with the first bytes of a tunnel, as the end of a sentence: TLS must name the host that was asked for. */
export function judgeHello({ host, port }: Target, first: Buffer): string | undefined {
  const hello = readHello(first);
  if (hello.kind !== 'tls') {
    const begun = hello.kind === 'more' && first.length > 0;
    return port === TLS_PORT || begun ? 'it was not used for TLS' : undefined;
  }
  // An address cannot be named in a hello (RFC 6066 §3).
  const wanted = isIP(host) === 0 ? host : undefined;
  if (hello.name?.toLowerCase() === wanted) return undefined;
  if (hello.name === undefined) return 'its TLS names no server';
  return `its TLS is for ${JSON.stringify(hello.name)}`;
}

/** Then the pipes passed its end on, and what is written to the other side may still be under way. */
function endedCleanly(side: Duplex): boolean {
  return side.readableEnded && side.writableFinished;
}

function endWith(socket: Duplex, status: string, reason: string): void {
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n` +
      `content-length: ${Buffer.byteLength(reason) + 1}\r\n\r\n${reason}\n`,
  );
  // The client may keep its half open for as long as it likes; the answer is all it gets.
  socket.resume();
  socket.once('finish', () => socket.destroy());
}
