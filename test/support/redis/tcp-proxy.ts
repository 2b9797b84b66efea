import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { sleep } from '../../../src/lib/async.ts';

/** What becomes of connections: passed on, immediately or so many ms late; cut with a reset; accepted and never answered. */
export type Weather = 'clear' | { slowMs: number } | 'reset' | 'black hole';

/** A network of our own in front of a server. */
export interface TcpProxy {
  port: number;
  /** For connections that are there and for those that come. */
  turn(weather: Weather): void;
  /** Existing connections never carry another byte, and neither end is notified: as after a switch lost its tables. */
  forgetAll(): void;
  /** How many bytes clients have sent so far. */
  sentBytes(): number;
  close(): Promise<void>;
}

interface Pair {
  near: Socket;
  far: Socket;
  forgotten: boolean;
}

/** Listens on loopback and passes connections on to the server at a Unix socket, or at a host and port. */
export async function openTcpProxy(target: string | { host: string; port: number }): Promise<TcpProxy> {
  let weather: Weather = 'clear';
  const pairs = new Set<Pair>();
  let sent = 0;
  const isDead = (pair: Pair) => pair.forgotten || weather === 'black hole';
  const pass = (pair: Pair, from: Socket, to: Socket) => {
    // Pieces stay in order, whatever the weather was when they came.
    let line = Promise.resolve();
    from.on('error', () => undefined);
    from.on('data', (piece) => {
      if (isDead(pair)) return;
      if (from === pair.near) sent += piece.length;
      const due = Date.now() + (typeof weather === 'object' ? weather.slowMs : 0);
      line = line.then(() => sleep(Math.max(0, due - Date.now()))).then(() => void (to.destroyed || to.write(piece)));
    });
    // Only this direction: an engine still sends output after the end of its stdin.
    from.on('end', () => {
      if (!isDead(pair)) line = line.then(() => void to.end());
    });
    from.on('close', () => {
      if (!isDead(pair)) void line.then(() => to.destroy());
    });
  };
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const place = typeof target === 'string' ? { path: target } : target;
    const pair = { near, far: connect({ ...place, allowHalfOpen: true }), forgotten: false };
    pairs.add(pair);
    pass(pair, near, pair.far);
    pass(pair, pair.far, near);
    if (weather === 'reset') near.resetAndDestroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    turn(next) {
      weather = next;
      if (next === 'reset') for (const { near } of pairs) near.resetAndDestroy();
    },
    forgetAll() {
      for (const pair of pairs) pair.forgotten = true;
    },
    sentBytes: () => sent,
    async close() {
      for (const { near, far } of pairs) for (const end of [near, far]) end.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
