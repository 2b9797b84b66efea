import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { describeNetworkError } from './network-error.ts';
import type { Ledger } from './ledger.ts';
import { formatTarget, parseTarget, type Target } from './target.ts';

const IDLE_MS = 10 * 60_000;

/** What the network doors of a gateway share. */
export interface Network {
  /** Canonical `host:port`s. */
  allow: ReadonlySet<string>;
  ledger: Ledger;
  /** Sockets to the outside, so that closing the gateway ends them. */
  outside: Set<Socket>;
}

/** The target when it is allowed, else the reason for people. */
export function checkTarget(text: string, allow: ReadonlySet<string>): Target | { reason: string } {
  const target = parseTarget(text);
  if (target === undefined) return { reason: `network: "${text}" refused; it is not a plain host:port` };
  const name = formatTarget(target);
  return allow.has(name) ? target : { reason: `network: ${name} refused; add it to [network] allow` };
}

/** Serves CONNECT: bytes both ways, unread and unchanged, to an allowed target. */
export function openTunnel(network: Network, request: { req: IncomingMessage; socket: Duplex; head: Buffer }): void {
  const { req, socket, head } = request;
  const text = req.url ?? '';
  socket.on('error', () => socket.destroy());
  const target = checkTarget(text, network.allow);
  if ('reason' in target) {
    network.ledger.refuse({ method: 'CONNECT', target: text, status: 403 }, target.reason);
    endWith(socket, '403 Forbidden', target.reason);
    return;
  }
  const upstream = connect({ ...target, allowHalfOpen: true });
  network.outside.add(upstream);
  upstream.once('close', () => network.outside.delete(upstream));
  socket.once('close', () => {
    if (!endedCleanly(socket)) upstream.destroy();
  });
  let open = false;
  upstream.once('connect', () => {
    open = true;
    network.ledger.record({ method: 'CONNECT', target: text, outcome: 'served', status: 200 });
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    if (head.length > 0) upstream.write(head);
    socket.pipe(upstream);
    upstream.pipe(socket);
  });
  upstream.once('error', (error) => {
    if (open) {
      socket.destroy();
      return;
    }
    network.ledger.record({ method: 'CONNECT', target: text, outcome: 'failed', status: 502 });
    endWith(socket, '502 Bad Gateway', `network: ${formatTarget(target)} not reached: ${describeNetworkError(error)}`);
  });
  upstream.once('close', () => {
    if (open && !endedCleanly(upstream)) socket.destroy();
  });
  upstream.setTimeout(IDLE_MS, () => upstream.destroy());
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
